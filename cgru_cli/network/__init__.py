"""The computation of a model.

Begin with `network`: `encode`, `start` and `step`, which training scans, search repeats and scoring
sums. `units` are the recurrent units; `encoder`, `attention` and `readout` are the parts
that the types share, and `ladder` has the decoder of each type with its equations; all use
`normalization`. `layers` makes arrays ready to multiply, with `products`, `folded_weights` and
`integer_products`. `forced_decoding` follows given translations.

The equations are written with the operations of `ops`. `engines` executes them: TensorFlow in
training, and ONNX everywhere else, where `graphs` makes graphs of the equations and `top_k` finds
the best words. `keras_model` wraps a model as a Keras model, and `keras_data` a prepared folder.
`nest` flattens and packs nested tuples.
"""
