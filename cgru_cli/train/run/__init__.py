"""A run: its files, its progress, and its log.

`folder` names the files; `saving` writes the `state` from which `resume` continues a run (and with
`marian`, the files from which Marian continues). `progress`, `patience`, `divergence` and
`learning_rate` track a run and decide how it continues. `reporter` reports through `log`, `curves`
and `tensorboard`.
"""
