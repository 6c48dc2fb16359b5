"""`cgru score`: score pairs, n-best lists and whole texts.

`job` runs the command, `plan` interprets its options. `pairs` scores translations with models;
`top_words` writes a model's most probable words; `n_best` ranks hypotheses by their features and
tunes the weights; `metrics` compares texts with references.
"""
