"""The arrays of a model, and their names in each program.

`structure` describes a model: its type, sizes and depths. `names` is the one table of parameters,
with the rows of recurrent units in `cell_names`; `parameter` defines a row. `initialization` makes
the arrays of a new model.
"""
