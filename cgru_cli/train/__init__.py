"""`cgru train`: from text and options to a model, and on from where it was.

`job` is the order of things. Before the loop: `plan` decides what the options mean, `texts` which
files are read (`tab_separated` of one file with both sides; `missing_vocabularies` makes some, as
Marian does, by `sentencepiece_vocabulary`), `starting_model` (with `structure_from_options`,
`word_vectors`, `adaptation`) what is trained, and `memory` whether it can be; `builders` makes the
parts, `dry_run` describes them. The loop: `loop` over `examples`, with `validation` on the
`dev_set` (and `validation_script`) between updates. `run` is what is kept and shown of it.
"""
