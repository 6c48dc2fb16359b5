"""The computation of a model.

Begin with `network`: `encode`, `start` and `step`, which training scans, search repeats and scoring
sums. `units` are the recurrent units; `encoder`, `attention` and `readout` are the parts
that the types share, and `ladder` has the decoder of each type with its equations; all use
`normalization`. `layers` makes arrays ready to multiply, with `products`, `folded_weights` and
`quantization`; `scan` is back-propagation through time. `forced_decoding`,
`word_costs` and `scorer` follow given translations; `inference` compiles without gradients;
`keras_model` wraps a model as a Keras model, and `keras_data` a prepared folder; `onnx_export`
converts a model to ONNX with the help of `onnx_graph` and `onnx_integers`. `scores` needs no
TensorFlow.
"""
