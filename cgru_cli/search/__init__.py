"""Beams and samples, over one model or several.

`settings` says how to search; `ensemble` steps models together; `hypotheses` is what the searches
share; `beam` is the search of Nematus (Theano), Marian and DL4MT, `nematus_tf_beam` that of
Nematus-TF; `sampling` draws.
"""
