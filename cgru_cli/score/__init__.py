"""`cgru score`: pairs, n-best lists and whole texts, scored.

`job` runs the command, `request` is what the options ask for. Pairs: `pairs` reads them,
`model_scorer` and `pair_scorer` score them, `layout` prints the scores, `filter` keeps pairs by
their scores, and `summary` adds scores up. N-best lists: `n_best` reads them, `rerank` ranks them
by weights, and `tune` with `weight_search` finds weights. Texts: `metric` compares them with
references, labels by `label_metrics`.
"""
