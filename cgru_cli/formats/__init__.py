"""Read model files of every program into a `Model`, and write a `Model` to them.

Reading: `read_model` shows the steps. `model_files` opens the files of a model: `array_files`,
`tensorflow_checkpoint` (with `checkpoint_table` and `crc32c`) and `onnx_file` read arrays, the last
two by `protobuf`; `read_configuration` and `own_configuration` read the configurations beside them,
with `pickles` and the bounds of `configuration_values`. `dialects` recognises the program of a
model; `structure_from_arrays` and `sizes_from_arrays` derive its structure from the arrays. The
result is a `model`; `declared` compares it with its description on a command line. Vocabularies:
`vocabulary_files` reads and writes their files, `model_vocabularies` finds those of a model.
Writing: `capabilities` lists the features that each program's files can hold; `write_model` and
`write_configuration` write the files, and `yaml_cpp` formats YAML as Marian does. `loaded_model` is
a model with its vocabularies, ready to read lines. Other files: `shortlist` reads shortlists,
`marian_optimizer` the optimiser's state of Marian's training runs, and `arpa` n-gram models.
"""
