"""The decoders, from the language model up to the conditional GRU.

From simple to complex: `lm`, `conditioned` (on a label or a vector), `encdec`, `seq2seq`,
`rnnsearch`, `cgru`; they share `levels`. `classifier` and `tagger` predict labels without a
decoder; they share `labels`, and `crf` makes a tagger's labels depend on each other.
"""
