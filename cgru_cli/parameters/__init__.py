"""Which arrays a model has, and what each program calls them.

`structure` is what may vary from model to model. `names` is the one table of parameters (its rows:
`parameter`; the rows of recurrent units: `cell_names`). `initialization` fills a new model.
"""
