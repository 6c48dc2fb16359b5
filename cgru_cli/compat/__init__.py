"""The programs that cgru replaces: Marian, amun, Nematus and DL4MT.

Only this package translates their command lines and configuration files into options of cgru. `row`
defines a row of a table of options, and `rows` reads it from a line of help. Each program has its
table, with the conversions of its rows and a function for options that the rows alone cannot
translate: `marian` (with `marian_train` and `marian_decode`), `nematus`, `amun`, `dl4mt`; `tables`
finds the table for a program and command. `reading` parses a command line as the program's own
parser does, `configuration` reads configuration files; `fields` collects the options of either,
`translation` turns them into options of cgru, or into a file of the program. `hints` suggests
corrections for a line with another program's options but without --compat; `documented` describes
the meaning of each option in cgru.

`old_programs` writes files with the names of these programs, from the texts in `programs/`.
"""
