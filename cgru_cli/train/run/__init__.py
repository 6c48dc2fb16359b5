"""A run: where it is, what is kept of it, what is shown of it.

`folder` and `state` are what a training goes on from; `saving` writes it, `resuming` reads it.
`progress`, `logical_epoch`, `patience` and `learning_rate` say where a training stands, `end` how
much of it is left. `reporter` shows it, by `log`, `curves` and `tensorboard`; `marian_progress` is
for scripts that read Marian's file.
"""
