"""Beams and samples, over one model or several.

`settings` says how to search; `ensemble` steps models together, `lattice` holds the states of its
rows, `top_k` finds the best words and `output_words` restricts them. `hypotheses` has the parts
shared by the searches, `constraints` the required and avoided phrases. `beam` is the search of
Nematus (Theano), Marian and DL4MT; its `ranking` is by log-probability, by `noisy_channel`, or
`sampling` draws translations. `nematus_tf_beam` is the search of Nematus-TF.
"""
