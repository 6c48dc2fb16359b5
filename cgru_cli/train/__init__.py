"""`cgru train`: trains a model on text, and resumes an interrupted run.

Read `job` first, then `setup`, which reads all inputs in this order: `texts` finds the files to
read (with `tab_separated` for --tsv); `missing_vocabularies` makes vocabularies that do not exist
(with `sentencepiece_vocabulary`); `starting_model` reads or makes the model (with
`structure_from_options` and `word_vectors`); `encoding` turns the text into ids. `plan` refuses
options that contradict each other before the text is read, and decides all options after it, with
`data_defaults`; `memory` checks that a batch fits. `builders` makes the parts of the loop (with
`adaptation`), and `dry_run` describes them. `loop` trains on the batches of `examples` (each
`update` is the same in a dry run), and validates with `validation` on the `dev_set` (and
`validation_script`). `run` saves, resumes and logs a run.
"""
