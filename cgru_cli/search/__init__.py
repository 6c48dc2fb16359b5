"""Beams and samples, over one model or several.

`settings` defines a search. `runtime` prepares models for ONNX Runtime, `ensemble` steps them
together, and `scoring` scores given translations. `lattice` holds the states of their rows, and
`output_words` restricts their words.
`hypotheses` has the parts shared by the searches, `constraints` the required and avoided phrases,
`tracker` the progress in them. `beam` is the search of Nematus (Theano), Marian and DL4MT; its
`ranking` is by log-probability, by `noisy_channel`, or `sampling` draws translations.
`nematus_tf_beam` is the search of Nematus-TF.
"""
