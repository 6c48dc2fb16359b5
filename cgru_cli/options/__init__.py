"""Every option of every command, stated once.

`kinds` has the forms of values, and `flags` what is stated of an option: its bounds, what it needs
and excludes, and its group in helps and documentation. Each command has a file: `convert`, `prep`,
`translate`, `score` and `serve` (these three share `line_filter`), `train` (with `model` and
`optimization`), `old_programs`; `configured` has the options about configuration files.
`click_command` makes commands of click from them, and `compat/` reads command lines, those of other
programs too. `feature_weights` and `config_file` read files that options name.
"""
