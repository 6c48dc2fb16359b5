"""Score translations with models.

`readers` reads pairs from two texts, a tab-separated text or an n-best list, `model_scorer` scores
them with one model, `ensemble_scorer` with a model or an ensemble, `pair_scorer` is the Python
interface, and `layout` formats the scores. `filter` selects pairs by their scores, `summary` adds
the scores up.
"""
