"""Model files of every program, read into one `Model` and written from it.

Reading: `read_model` finds the files of a model; `array_files`, `tensorflow_checkpoint` (with
`checkpoint_table` and `crc32c`) and `pickles` read them; `dialects` tells which program wrote them;
`structure_from_arrays` and `sizes_from_arrays` derive the structure from the arrays, and
`model_from_arrays` checks these and makes the `model`. `read_configuration` and `own_configuration`
read the configuration beside a model, with the bounds of `configuration_values`; `declared`
compares a model with what a command line says of it. Vocabularies: `vocabulary_files` reads and
writes them, `model_vocabularies` finds those of a model. Writing: `capabilities` says what a
program's files can hold; `write_model` and `write_configuration` write them, YAML by `yaml_cpp` as
Marian does. `loaded_model` is a model with its vocabularies, ready to read lines. Other files:
`shortlist`, and `arpa` of n-gram models.
"""
