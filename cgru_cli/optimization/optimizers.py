"""Keras' optimizers, with the names and parameters of the legacy programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from ..errors import UsageError

_ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
# Keras' class, and the parameters of --optimizer-params with defaults, in their order.
OPTIMIZERS: dict[str, tuple[type, dict[str, float]]] = {
    "adam": (keras.optimizers.Adam, _ADAM),
    "adamw": (keras.optimizers.AdamW, _ADAM | {"weight_decay": 0.004}),
    "sgd": (keras.optimizers.SGD, {"momentum": 0.0}),
    "adagrad": (keras.optimizers.Adagrad, {"initial_accumulator_value": 0.0, "epsilon": 1e-8}),
    "adadelta": (keras.optimizers.Adadelta, {"rho": 0.95, "epsilon": 1e-6}),
    "rmsprop": (
        keras.optimizers.RMSprop,
        {"rho": 0.95, "momentum": 0.0, "epsilon": 1e-7, "centered": 0.0},
    ),
}

# The decay rates of running sums over gradients.
_FADING = ("beta_1", "beta_2", "rho", "momentum")

# Each optimizer's sums over gradients: Marian's name -> Keras' attribute, a list with one variable
# per parameter.
_SUMS = {
    keras.optimizers.Adam: {"adam_mt": "_momentums", "adam_vt": "_velocities"},
    keras.optimizers.Adagrad: {"adagrad_gt": "_accumulators"},
}


def sums(optimizer: keras.optimizers.Optimizer) -> dict[str, list[Any]]:
    """The optimizer's variables that Marian also has, by Marian's names for their kinds."""
    for kind, attributes in _SUMS.items():
        if isinstance(optimizer, kind):
            return {name: getattr(optimizer, lists) for name, lists in attributes.items()}
    return {}


def optimizer(name: str, given: Sequence[float], rate: float) -> keras.optimizers.Optimizer:
    """Create an optimizer; given: values of its first parameters, in the order of OPTIMIZERS.

    Raises UsageError for too many parameters, and for decay rates of 1 or more.
    """
    kind, known = OPTIMIZERS[name]
    if len(given) > len(known):
        raise UsageError(
            f"--optimizer-params: {name} takes {' '.join(known)}; got {len(given)} numbers"
        )
    values: dict[str, Any] = known | dict(zip(known, given, strict=False))
    for parameter in _FADING:
        if values.get(parameter, 0) >= 1:
            raise UsageError(
                f"--optimizer-params: {parameter} of {name} is {values[parameter]:g}; it must be "
                "below 1"
            )
    if "centered" in values:
        values["centered"] = bool(values["centered"])
    # the gradients are already summed over the replicas; Keras would sum them again
    methods: dict[str, Any] = {"_all_reduce_sum_gradients": lambda _, pairs: pairs}
    if issubclass(kind, keras.optimizers.Adam):
        methods["update_step"] = _adam_in_one_pass
    elif name == "adagrad":
        methods["update_step"] = _adagrad
    return type(kind.__name__, (kind,), methods)(learning_rate=rate, **values)


def _adam_in_one_pass(
    self: Any, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
) -> None:
    """The update of Keras' Adam, computed by TensorFlow's fused operation.

    The operation reads and writes the parameters once, Keras' own update about ten times.
    """
    place = self._get_variable_index(variable)
    step = tf.cast(self.iterations.value + 1, variable.dtype)
    beta_1, beta_2 = (tf.cast(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=self._momentums[place].value.handle,
        v=self._velocities[place].value.handle,
        beta1_power=beta_1**step,
        beta2_power=beta_2**step,
        lr=tf.cast(learning_rate, variable.dtype),
        beta1=beta_1,
        beta2=beta_2,
        epsilon=self.epsilon,
        grad=gradient,
    )


def _adagrad(
    self: Any, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
) -> None:
    """Marian's update, which adds epsilon to the root; Keras adds it under the root."""
    squares = self._accumulators[self._get_variable_index(variable)]
    squares.assign_add(tf.square(gradient))
    rate = tf.cast(learning_rate, variable.dtype)
    variable.assign_sub(rate * gradient / (tf.sqrt(squares.value) + self.epsilon))
