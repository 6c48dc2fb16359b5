"""A run: where it is, what is kept of it, what is shown of it.

`folder` and `state` are what a training goes on from; `progress`, `patience` and `learning_rate`
where it stands; `log`, `curves` and `tensorboard` what is shown.
"""
