"""`cgru train`: from text and options to a model; an interrupted run resumes.

Read `job` first, then `setup`, which has the steps before the first update in their order: `texts`
finds the files to read (with `tab_separated` for --tsv); `missing_vocabularies` makes vocabularies
that do not exist (with `sentencepiece_vocabulary`); `plan` decides what the options mean together;
`starting_model` reads or makes the model (with `structure_from_options` and `word_vectors`);
`encoding` turns the text into ids; `memory` checks that a batch fits. `builders` makes the parts of
the loop (with `adaptation`), and `dry_run` describes them. `loop` trains on the batches of
`examples`, with `validation` on the `dev_set` (and `validation_script`) between updates. `run`
saves, resumes and logs a run.
"""
