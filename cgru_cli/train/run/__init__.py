"""A run: its files, how far it is, and its log.

`folder` names the files; `state` is what a run resumes from, and `saving` writes it. `progress`,
`patience` and `learning_rate` say how far a training is and what follows. `reporter` reports it
through `log`, `curves` and `tensorboard`.
"""
