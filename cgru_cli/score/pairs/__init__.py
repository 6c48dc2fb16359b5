"""Translations scored by models.

`readers` reads pairs from texts, tabs or an n-best list, `model_scorer` scores them by one model,
`pair_scorer` by a model or an ensemble, and `layout` prints the scores. `filter` keeps pairs by
their scores, `summary` adds the scores up.
"""
