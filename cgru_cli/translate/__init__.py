"""`cgru translate`: lines in, translations out.

`job` runs the command, `plan` decides how to search, `requests` splits lines into words,
`line_search` makes batches of them and searches, and `results` turns what was found into
translations; `translator` is the Python interface. `phrases` reads constraints, `shortlists` the
words to choose from; `noisy_channel` ranks with a channel model and a language model, and
`expected_utility` by similarity (minimum Bayes risk).
"""
