"""`cgru translate`: lines in, translations out.

`job` goes from lines to lines; `plan` decides how to search; `requests` has lines made into words;
`translator` makes batches of them and text of hypotheses. `nematus_tf_batches` are the mini-batches
that Nematus-TF cuts.
"""
