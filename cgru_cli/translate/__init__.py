"""`cgru translate`: lines in, translations out.

`job` runs the command, `plan` decides how to search, `requests` splits lines into words,
`translator` makes batches of them and searches, and `results` turns what was found into
translations. `phrases` reads constraints, `noisy_channel` ranks by a channel model and a language
model, and `nematus_tf_batches` cuts mini-batches as Nematus-TF does.
"""
