"""All options of all commands: each one is a field of a dataclass, and declared nowhere else.

`declaration` makes such a field, `flags` holds its description of an option and checks values,
`kinds` reads values. Each command has a file: `convert`, `prep`, `translate`, `score` and `serve`
(these three share `line_filter`), `train` (with `model`, `batches` and `optimization`),
`old_programs`; `configured` has the options about configuration files. `click_command` makes click
commands from them, with `command_line`; `config_file` and `feature_weights` read files that options
name; `keywords` defines the options as Python arguments.
"""
