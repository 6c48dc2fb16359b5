"""`cgru translate`: lines in, translations out.

`job` runs the command, `plan` decides how to search, `requests` splits lines into words, and
`translator` makes batches of them, searches, and turns hypotheses into text. `phrases` reads
constraints, `noisy_channel` ranks by a channel model and a language model, and `nematus_tf_batches`
cuts mini-batches as Nematus-TF does.
"""
