"""Raw text to words, and words to ids.

`vocabulary` and `source_words` are what every model needs, `labels` what gives labels, `conditions`
what texts are generated from; `pipeline` is what `cgru prep` does to raw text, by `moses` and
`subwords`; `unknown_words` replaces them after the search.
"""
