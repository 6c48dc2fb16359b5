"""A run: where it is, what is kept of it, what is shown of it.

`folder` and `state` are what a training goes on from; `saving` writes it, `resuming` reads it.
`progress`, `patience` and `learning_rate` say where a training stands. `reporter` shows it, by
`log`, `curves` and `tensorboard`.
"""
