"""Every option of every command, stated once.

`flags` says what an option is. Each command has a file: `convert`, `prep`, `translate`, `score`
(both with `line_filter`), and `train` with `model`. `programs` are the defaults of each legacy
program; `feature_weights` and `config_file` read values that stand in files.
"""
