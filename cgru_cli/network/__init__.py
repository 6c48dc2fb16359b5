"""The computation of a model.

Begin with `network`: `encode`, `start` and `step`, which training scans, search repeats and scoring
sums. `units` are the recurrent units; `encoder`, `attention` and `readout` are the parts
that the types share, and `ladder` has the decoder of each type with its equations; all use
`normalization`. `layers` makes arrays ready to multiply, with `products`, `folded_weights` and
`integer_products`. `forced_decoding` follows known translations, and `top_k` finds the best words.
All of them are written with the array operations of `ops`, which one of the `engines` executes:
TensorFlow in training, ONNX elsewhere; `nest` flattens named tuples of arrays. `graphs` makes ONNX
graphs and files; `keras_model` wraps a model as a Keras model for training, and `keras_data` a
prepared folder.
"""
