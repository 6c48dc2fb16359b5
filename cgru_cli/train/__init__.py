"""`cgru train`: from text and options to a model; a run that was interrupted resumes.

`job` has the steps in their order. Before the loop: `plan` decides what the options mean; `texts`
finds the files to read (with `tab_separated` for --tsv), and `missing_vocabularies` makes the
vocabularies that do not exist, as Marian does (with `sentencepiece_vocabulary`); `starting_model`
reads or makes the model to begin with (with `structure_from_options`, `word_vectors` and
`adaptation`); `memory` checks that a batch fits; `builders` makes the parts of the loop, and
`dry_run` describes them. The loop itself is `loop`, over the batches of `examples`, with
`validation` on the `dev_set` (and `validation_script`) between updates. `run` saves, resumes and
logs a run.
"""
