"""What is minimised, its gradient, and the update.

`step` is the training step. `objective` is what it minimises, or `minimum_risk`; `optimizers` make
the update, `quantized_weights` are at a few levels after it, `replicas` share it among devices, and
`gradient_norms` looks at it.
"""
