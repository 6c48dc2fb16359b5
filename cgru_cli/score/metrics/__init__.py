"""Texts compared with references: `evaluation` by sacreBLEU, `labels` by accuracy and F1."""
