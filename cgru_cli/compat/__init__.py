"""The programs that cgru stands in for: Marian, amun, Nematus and DL4MT.

A command line or a configuration file of theirs is translated into options of cgru, at the edge and
nowhere else. `rows` defines a row of a table of options. Each program has its table:
`marian_general`, `marian_train` and `marian_decode`, `nematus`, `amun`, `dl4mt`; `tables` finds the
one of a program and command. `reading` parses a command line as the program's own parser does,
`configuration` reads configuration files; `given_fields` collects the options of either by field.
`translation` turns them into options of cgru, by way of `option_values`, where `train` and
`filters` replace the fields that cgru does not have. `hints` says what to write where a line has
options of another program and does not name it.

`old_programs` writes files with the names of these programs; `programs/` holds their texts.
"""
