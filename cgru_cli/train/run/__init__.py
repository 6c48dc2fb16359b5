"""A run: its files, its progress, and its log.

`folder` names the files; `saving` writes the `state` from which `resume` continues a run.
`progress`, `patience`, `divergence` and `learning_rate` track a run and decide how it continues.
`reporter` reports through `log`, `curves` and `tensorboard`. `conventions` states how a run logs,
ends and saves, and `marian` how Marian does. Workers other than the first have the parts of
`other_workers`, which do nothing.
"""
