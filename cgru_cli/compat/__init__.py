"""The programs that cgru stands in for: Marian, amun, Nematus and DL4MT.

A command line or a configuration file of theirs is translated into options of cgru, at the edge and
nowhere else. `rows` defines a row of a table of options. Each program has its table, with the
conversions of its rows and a function that settles what the rows alone cannot say: `marian` (with
`marian_train` and `marian_decode`), `nematus`, `amun`, `dl4mt`; `tables` finds the one of a program
and command. `reading` parses a command line as the program's own parser does, `configuration` reads
configuration files; `fields` collects the options of either, and `translation` turns them into
options of cgru. `hints` says what to write where a line has options of another program and does
not name it.

`old_programs` writes files with the names of these programs; `programs/` holds their texts.
"""
