"""Compare texts with references: `evaluation` with sacreBLEU, `labels` by accuracy and F1."""
