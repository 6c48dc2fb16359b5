"""A run: its files, its progress, and its log.

`folder` names the files; `saving` writes the `state` from which `resume` continues a run.
`progress`, `patience`, `divergence` and `learning_rate` track a run and decide how it continues.
`validation` measures a run's model and saves the best; `forecast` says what to expect of a run;
`reporter` reports through `log`, `curves` and `tensorboard`. `conventions` states how a run logs,
ends and saves, and `marian` how Marian does. Workers other than the first have the parts of
`other_workers`, which do nothing.
"""
