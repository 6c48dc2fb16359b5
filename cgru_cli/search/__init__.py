"""Beams, samples and scores, over one model or several.

`settings` defines a search. `runtime` prepares models for ONNX Runtime and runs their graphs:
`ensemble` steps several models together, and `scoring` scores known translations. `decoder_states`
has the live hypotheses and their states, and `output_words` restricts their next words.
`hypotheses` has the parts shared by the searches, `constraints` the required and avoided phrases,
`tracker` the progress in them. `beam` is the search of Nematus (Theano), Marian and DL4MT; its
`ranking` is by log-probability, by `noisy_channel`, or `sampling` draws translations.
`nematus_tf_beam` is the search of Nematus-TF.
"""
