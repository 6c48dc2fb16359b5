"""`cgru score`: pairs, n-best lists and whole texts, scored.

`job` is the command and `request` what is asked of it. Models: `pairs` are read, `model_scorer` and
`pair_scorer` score them, `layout` prints and `filter` keeps some. Lists: `n_best` reads them,
`rerank` chooses by weights, `tune` with `weight_search` finds weights. Texts: `metric`.
"""
