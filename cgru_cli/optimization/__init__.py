"""The objective, its gradient, and the update.

Read `step` first, the training step. `objective` and `minimum_risk` have the costs that it
minimises, `optimizers` the update rules; `quantized_weights` rounds weights after an update,
`replicas` distributes a step over devices and machines, which `cluster` finds, and `gradient_norms`
measures gradients for the log.
"""
