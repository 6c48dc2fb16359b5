"""Pipes, files, signals, processes, and TensorFlow's start.

`lines` and `windows` are how text comes in and goes out, `number_rows` how numbers do;
`atomic_files` and `structured_files` how files are read and written whole, `typed_json` how JSON
becomes dataclasses; `terminal` and `log_file` what people see, `signals` how a command is stopped;
`process_pool`, `cluster` and `tensorflow_start` where it computes, `memory` with how much, and
`garbage` when Python looks for what nobody needs any more.
`numpy_order` is the order in which NumPy's sort of 2015 to 2022 left equal values.
"""
