"""Every option of every command, stated once.

`kinds` says what values may be, `flags` what an option is: its bounds, what it needs and excludes,
and its group in helps and documentation. `arguments` reads several values after one flag, as old
scripts have them. Each command has a file: `convert`, `prep`, `translate` and `score` (both with
`line_filter`), `train` (with `model` and `optimization`), `old_programs`. `programs` are the
defaults of each legacy program; `feature_weights` and `config_file` read values that stand in
files.
"""
