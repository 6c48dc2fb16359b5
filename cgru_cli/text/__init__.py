"""Raw text to words, and words to ids.

`vocabulary` and `source_words` serve every model, `labels` classifiers and taggers, and
`conditions` language models with a condition. `pipeline` is the preprocessing of `cgru prep`, with
`moses` and `subwords`; `unknown_words` replaces unknown words in translations.
"""
