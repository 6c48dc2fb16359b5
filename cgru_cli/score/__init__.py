"""`cgru score`: scores of pairs, n-best lists and whole texts. `job` runs the command, `plan`
decides what the options ask for. `pairs` scores translations with models; `n_best` ranks hypotheses
by their features and tunes the weights of these; `metrics` compares texts with references.
"""
