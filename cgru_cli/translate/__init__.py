"""`cgru translate`: lines in, translations out.

`job` runs the command; `plan` decides how to search, and refuses options that do not apply.
`filters` removes marks from lines and splits sentences, `preparation` splits lines into words,
`line_search` searches in batches, and `results` turns the results of the search into translations;
`translator` is the Python interface. `phrases` reads constraints, `shortlists` the allowed words;
`noisy_channel` ranks with a channel model and a language model, and `expected_utility` by
similarity (minimum Bayes risk).
"""
