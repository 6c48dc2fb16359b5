"""The decoders, from the language model up to the conditional GRU.

In the order of the ladder: `lm`, `conditioned` (on a label or a vector), `encdec`, `seq2seq`,
`rnnsearch`, `cgru`; `levels` is what they share. Without a decoder: `classifier` and `tagger`,
which give labels; `labels` is what these share, `crf` what ties a tagger's labels to each other.
"""
