"""Pipes, files, signals, processes, and TensorFlow's start.

Text: `lines` reads lines (`number_rows`: from `.npy` files), `windows` groups lines and restores
their order, `line_writer` writes lines, and `plain_numbers` parses numbers. Files: `atomic_files`
writes complete files or nothing, `structured_files` reads JSON and YAML, and `typed_json` converts
JSON to dataclasses. Messages: `terminal`, `standard_output` and `log_file`. Processes: `signals`
stops a command cleanly, `process_pool` runs several processes and `side_by_side` several threads,
`tensorflow_start` loads TensorFlow, and `versions` describes the system and imports optional
packages.
"""
