"""The options of all commands: each is declared once, as a field of a dataclass.

`declaration` makes such a field, `flags` describes an option and reads its values, `options` checks
all options together, `scope` lists what options apply to, `kinds` parses values. Each command has a
file: `convert`, `prep`, `translate`, `score` and `serve` (these three share `line_filter`), `train`
(with `model`, `optimization` and, for scripts of other programs, `as_in_marian`), `old_programs`;
`configured` has the options for configuration files. `click_command` and `command_line` turn
options into click commands; `config_file` and `feature_weights` read files that options name;
`keywords` makes the options Python arguments, whose types are generated (`keyword_types`).
"""
