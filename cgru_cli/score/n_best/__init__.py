"""N-best lists ranked, and the weights of their features tuned.

`entry` parses a line, `rerank` ranks hypotheses by weights, `weight_search` finds the weights by
which a list scores best, and `tune` reads the list and writes the weights.
"""
