"""`cgru train`: from text and options to a model, and on from where it was.

`job` is the order of things. Before the loop: `plan` decides what the options mean, `texts` which
files are read (`missing_vocabularies` makes some, as Marian does), `starting_model` (with
`structure_from_options`, `word_vectors`, `adaptation`) what is trained; `builders` makes the parts,
`dry_run` describes them. The loop: `loop` over `examples`, with `validation` on the `dev_set` (and
`validation_script`) between updates. `run` is what is kept and shown of it.
"""
