"""The command lines of other programs: every option of each, and what it means here.

`rows` says what a row of a table is. Each program has its table of options: `marian_general`,
`marian_train` and `marian_decode`, `nematus`, `amun`, `dl4mt`.
`tables` finds the table of a program and command, and what all programs mean alike. `reading`
takes a command line apart as a program's own parser does, `configuration` its configuration files,
and `command_line` makes the options of this package from both: by field in a `together`, which
`train` and `filters` bring in agreement. `documentation` has the tables of the documentation.
"""
