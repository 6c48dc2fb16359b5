"""From raw text to words, and from words to ids.

Every model needs `vocabulary` and `source_words`; classifiers, taggers and language models with a
condition also `labels`. `pipeline` is the preprocessing of `cgru prep`, with `moses` and
`subwords`. `unknown_words` replaces unknown words in translations, and `offsets` finds the words of
a line in its text.
"""
