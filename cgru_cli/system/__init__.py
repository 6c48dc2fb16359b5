"""Pipes, files, signals, processes, and TensorFlow's start.

Text: `lines` reads it (`number_rows`: also from `.npy` files), `windows` groups lines and restores
their order, and `line_writer` writes them. Files: `atomic_files` writes whole files or nothing,
`structured_files` reads JSON and YAML, and `typed_json` makes dataclasses of JSON. Messages:
`terminal`, `standard_output` and `log_file`. Processes: `signals` stops a command cleanly,
`process_pool` runs several processes, `tensorflow_start` loads TensorFlow, `garbage` says when
Python collects garbage, and `versions` describes the system and imports optional packages.
"""
