"""Pipes, files, signals, processes, and TensorFlow's start.

Text: `lines` reads and writes it, `windows` keeps it in order, and `number_rows` reads `.npy` files
as lines. Files: `atomic_files` writes them whole or not at all, `structured_files` reads JSON and
YAML, and `typed_json` makes dataclasses of JSON. Messages: `terminal`, `standard_output` and
`log_file`. Processes: `signals` stops a command cleanly, `process_pool` and `cluster` run several,
`tensorflow_start` loads TensorFlow, `memory` tells how much there is, and `garbage` says when
Python collects garbage. `numpy_order` is the order in which NumPy's sort of 2015 to 2022 left equal
values.
"""
