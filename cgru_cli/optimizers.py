"""Keras' optimizers under the names and with the parameters of the legacy programs."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from .errors import UsageError

# What the numbers of --optimizer-params are, in order, and what they are by default.
PARAMETERS = {
    "adam": (("beta_1", 0.9), ("beta_2", 0.999), ("epsilon", 1e-8)),
    "adamw": (("beta_1", 0.9), ("beta_2", 0.999), ("epsilon", 1e-8), ("weight_decay", 0.004)),
    "sgd": (("momentum", 0.0),),
    "adagrad": (("initial_accumulator_value", 0.0), ("epsilon", 1e-8)),
    "adadelta": (("rho", 0.95), ("epsilon", 1e-6)),
    "rmsprop": (("rho", 0.95), ("momentum", 0.0), ("epsilon", 1e-7)),
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
    """A new optimizer; given are its parameters in the order of PARAMETERS.

    Raises UsageError where more are given than it has.
    """
    known = PARAMETERS[name]
    if len(given) > len(known):
        names = " ".join(parameter for parameter, _ in known)
        raise UsageError(f"--optimizer-params: {name} has {names}; {len(given)} numbers are given")
    values = dict(known) | {
        parameter: value for (parameter, _), value in zip(known, given, strict=False)
    }
    return _of_sums(_KERAS[name])(learning_rate=rate, **values)


def _of_sums(kind: type[keras.optimizers.Optimizer]) -> type[keras.optimizers.Optimizer]:
    """An optimizer whose gradients are sums over all replicas already.

    Keras' own would sum them up, and send them, once more.
    """
    return type(kind.__name__, (kind,), {"_all_reduce_sum_gradients": lambda _, pairs: pairs})
