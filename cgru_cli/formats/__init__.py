"""Model files of every program, read into one `Model` and written from it.

Reading: `read_model` finds the files, `array_files`, `tensorflow_checkpoint` and `pickles` open
them, `dialects` tells who wrote them, `structure_from_arrays`, `sizes_from_arrays` and
`model_from_arrays` make the `model`. `read_configuration` and `own_configuration` read what stands
beside; `configuration_values` says what each value may be. Vocabularies:
`vocabulary_files` reads and writes them, `model_vocabularies` finds those of a model. Writing:
`capabilities` says what a dialect can hold, `write_model` and `write_configuration` write it.
`loaded_model` is a model ready to read lines. `yaml_cpp` is text in YAML as Marian writes it.
"""
