"""Keras' optimizers under the names and with the parameters of the legacy programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from ..errors import UsageError

# The parameters of --optimizer-params, in order, with their defaults.
PARAMETERS = {
    "adam": (("beta_1", 0.9), ("beta_2", 0.999), ("epsilon", 1e-8)),
    "adamw": (("beta_1", 0.9), ("beta_2", 0.999), ("epsilon", 1e-8), ("weight_decay", 0.004)),
    "sgd": (("momentum", 0.0),),
    "adagrad": (("initial_accumulator_value", 0.0), ("epsilon", 1e-8)),
    "adadelta": (("rho", 0.95), ("epsilon", 1e-6)),
    "rmsprop": (("rho", 0.95), ("momentum", 0.0), ("epsilon", 1e-7), ("centered", 0.0)),
}
_KERAS = {
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
    "adagrad": keras.optimizers.Adagrad,
    "adadelta": keras.optimizers.Adadelta,
    "rmsprop": keras.optimizers.RMSprop,
}


def optimizer(name: str, given: Sequence[float], rate: float) -> keras.optimizers.Optimizer:
    """A new optimizer; given: its first parameters, in the order of PARAMETERS.

    Raises UsageError for too many parameters.
    """
    known = PARAMETERS[name]
    if len(given) > len(known):
        names = " ".join(parameter for parameter, _ in known)
        raise UsageError(f"--optimizer-params: {name} has {names}; {len(given)} numbers are given")
    values = dict(known) | {
        parameter: value for (parameter, _), value in zip(known, given, strict=False)
    }
    more: dict[str, Any] = (
        {"centered": bool(values.pop("centered"))} if "centered" in values else {}
    )
    return _without_sums(_KERAS[name])(learning_rate=rate, **values, **more)


class _AdamInOnePass:
    """Keras' Adam with the same formula and variables, by TensorFlow's operation for it.

    The operation reads and writes the parameters once; Keras' own step does so about ten times.
    """

    # attributes of Keras' Adam
    _get_variable_index: Callable[[tf.Variable], int]
    _momentums: list
    _velocities: list
    iterations: Any
    beta_1: float
    beta_2: float
    epsilon: float

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        place = self._get_variable_index(variable)
        m, v = self._momentums[place].value, self._velocities[place].value
        step = tf.cast(self.iterations.value + 1, variable.dtype)
        beta_1, beta_2 = (tf.cast(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )


def _without_sums(kind: type[keras.optimizers.Optimizer]) -> type[keras.optimizers.Optimizer]:
    """An optimizer that takes the sums of gradients over all replicas.

    Keras' own would sum them over the replicas once more.
    """
    bases = (_AdamInOnePass, kind) if issubclass(kind, keras.optimizers.Adam) else (kind,)
    return type(kind.__name__, bases, {"_all_reduce_sum_gradients": lambda _, pairs: pairs})
