"""Rank n-best lists, and tune the weights of their features.

`entry` parses a line, `rerank` ranks hypotheses by weights, `weight_search` finds the weights with
the best score on a list, and `tune` reads the list and writes the weights.
"""
