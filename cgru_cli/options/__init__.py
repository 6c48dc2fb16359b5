"""Every option of every command, stated once.

`kinds` says what values may be, `flags` what an option is: its bounds, what it needs and excludes,
and its group in helps and documentation. Each command has a file: `convert`, `prep`, `translate`
and `score` (both with `line_filter`), `train` (with `model` and `optimization`), `old_programs`;
`configured` is shared by those that other programs have too. `compat/` makes options from command
lines, those of other programs too, and `click_command` is where click gets them; `programs` are the
defaults of their decoders; `feature_weights` and `config_file` read values that stand in files.
"""
