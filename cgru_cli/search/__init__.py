"""Beams and samples, over one model or several.

`settings` defines a search; `computed` selects the computation of models: `ensemble` steps those of
TensorFlow together, `onnx_model` one of ONNX Runtime, `mixed_ensemble` both kinds. `lattice` holds
the states of their rows, and `output_words` restricts their words.
`hypotheses` has the parts shared by the searches, `constraints` the required and avoided phrases,
`tracker` the progress in them. `beam` is the search of Nematus (Theano), Marian and DL4MT; its
`ranking` is by log-probability, by `noisy_channel`, or `sampling` draws translations.
`nematus_tf_beam` is the search of Nematus-TF.
"""
