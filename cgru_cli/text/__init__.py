"""From raw text to words, and from words to ids.

Every model needs `vocabulary` and `source_words`; classifiers and taggers also `labels`, language
models with a condition `conditions`. `pipeline` is the preprocessing of `cgru prep`, with `moses`
and `subwords`. `tokenised` warns about text in the wrong form, `unknown_words` replaces unknown
words in translations, and `offsets` finds the words of a line in its text.
"""
