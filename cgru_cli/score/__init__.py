"""`cgru score`: pairs, n-best lists and whole texts, scored.

`job` is the command, `request` what it is to do. Models: `pairs` are read, `model_scorer` and
`pair_scorer` score them, `layout` prints, `filter` keeps some and `summary` sums them up. Lists:
`n_best` reads them, `rerank` chooses by weights, `tune` with `weight_search` finds weights. Texts:
`metric`, of labels with `label_metrics`.
"""
