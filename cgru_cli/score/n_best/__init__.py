"""Ranking of n-best lists, and tuning of the weights of their features.

`entry` parses a line, `rerank` ranks hypotheses by weights, `weight_search` finds the weights by
which a list scores best, and `tune` reads the list and writes the weights.
"""
