"""A run: its files, its progress, and its log.

`folder` names the files; `state` is what a run resumes from, and `saving` writes it (with `marian`,
the files with which Marian resumes). `progress`, `patience`, `divergence` and `learning_rate` track
a run and decide what follows. `reporter` reports it through `log`, `curves` and `tensorboard`.
"""
