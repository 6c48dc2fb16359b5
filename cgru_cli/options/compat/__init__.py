"""The command lines of other programs: every option of each, and what it means in cgru.

`rows` defines a row of a table of options. Each program has its table: `marian_general`,
`marian_train` and `marian_decode`, `nematus`, `amun`, `dl4mt`; `tables` finds the one of a program
and command. `reading` parses a command line as the program's own parser does, `configuration` and
`config_files` read configuration files; `given_fields` collects the options of either by field.
`command_line` turns them into options of this package, by way of `option_values`, where `train` and
`filters` replace the fields that cgru does not have. `documentation` makes the tables of options in
the documentation.
"""
