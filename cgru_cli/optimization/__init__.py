"""The objective, its gradient, and the update.

Begin with `step`, the training step. `objective` and `minimum_risk` define the costs to minimise,
`words` and `word_costs` those of a target's words, `optimizers` the update rules;
`quantized_weights` rounds weights after an update, `replicas` distributes a step over the devices
and machines that `cluster` finds, and `gradient_norms` measures gradients for the log.
"""
