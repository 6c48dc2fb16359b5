"""A run: its files, how far it is, and its log.

`folder` has the files; `state` is what a run resumes from, `saving` writes it, `resuming` reads it.
`progress`, `logical_epoch`, `patience` and `learning_rate` say how far a training is, `end` how
much is left. `reporter` reports through `log`, `curves` and `tensorboard`; `marian_progress` writes
Marian's `.progress.yml`.
"""
