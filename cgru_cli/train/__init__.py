"""`cgru train`: from text and options to a model, and on from where it was.

`job` is the order of things. Before the loop: `texts`, `starting_model` (with
`structure_from_options`, `word_vectors`, `adaptation`), `plan`, `builders`, `dry_run`. The loop:
`loop` over `examples`, with `validation` (and `validation_script`) between updates. `run` is what
is kept and shown of it.
"""
