"""The arrays of a model, and their names in each program.

`program` lists the programs and their defaults. `structure` describes a model: its type, sizes and
depths; `cells` are its recurrent cells. `names` is the only table of parameters, with the rows of
recurrent cells in `cell_names`; `parameter` defines a row. `initialization` makes the arrays of a
new model.
"""
