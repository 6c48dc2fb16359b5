"""The decoders, from the language model up to the conditional GRU.

In the order of the ladder: `lm`, `encdec`, `seq2seq`, `rnnsearch`, `cgru`; `levels` is what they
share.
"""
