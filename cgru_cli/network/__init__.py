"""The computation of a model.

Begin with `network`: the seam `encode`, `start`, `step` that training scans, the search loops and
scoring sums. `units` are the recurrent units, `encoder`, `attention` and `readout` the parts that
all rungs share, `ladder` the decoders, each with its equations; `normalization` is in all of them.
`layers` makes arrays ready to multiply, with `products`, `folded_weights` and `distinct_words`;
`scan` is back-propagation through time. `forced_decoding`, `word_costs` and `scorer` follow given
translations; `keras_model` is the whole as a Keras model.
"""
