"""A model of any type as a Keras model, computed by a `Network`."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from ..parameters.initialization import initial_arrays
from ..parameters.names import parameters
from ..parameters.structure import Structure
from ..system.terminal import table
from .forced_decoding import unroll
from .network import Network

keras.config.set_floatx("float32")  # a user's ~/.keras/keras.json may differ


@keras.saving.register_keras_serializable("cgru")
class RecurrentModel(keras.Model):
    """A Keras model with one variable per parameter, called with (source, source mask, target).

    Without arrays, the model is initialised as in Nematus, with a fixed seed. Keras' optimizers,
    `save`, `load_model`, `clone_model` and precision policies work: products are computed in the
    policy's compute dtype, states and softmax in float32. packed: as in `Network`.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Mapping | None = None,
        *,
        packed: bool = False,
        **kwargs: Any,
    ):
        super().__init__(autocast=False, **kwargs)
        self.structure, self.packed = structure, packed
        self.parameters = {}
        groups: dict[str, keras.layers.Layer] = {}  # for `summary()`
        for row in parameters(structure):
            path = row.path.rpartition("/")[0].replace("/", ".")
            if path not in groups:
                groups[path] = keras.layers.Layer(name=path, dtype="float32")
                groups[path].built = True
            self.parameters[row.name] = groups[path].add_weight(
                name=row.name,
                shape=row.size(structure),
                initializer="zeros",
                dtype="float32",
                autocast=False,
            )
        self.groups = list(groups.values())
        self.assign(initial_arrays(structure, "nematus", 0) if arrays is None else arrays)
        self.built = True

    def assign(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set all variables from arrays, given by their DL4MT/Nematus names."""
        for name, variable in self.parameters.items():
            variable.assign(arrays[name])

    def arrays(self) -> dict[str, np.ndarray]:
        """The variables' values by their DL4MT/Nematus names."""
        return {name: array_of(variable) for name, variable in self.parameters.items()}

    def get_config(self) -> dict[str, Any]:
        """The structure, for Keras' own files; `write_model` writes files for cgru's commands."""
        config = super().get_config()
        return config | {"structure": self.structure.as_dict(), "packed": self.packed}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """A newly initialised model from `get_config`. Raises CgruError for a damaged structure."""
        structure = Structure.from_dict(config["structure"], "Keras' configuration")
        return cls(**(config | {"structure": structure}))

    def summary(
        self, *_: Any, print_fn: Callable[[str], object] | None = None, **_more: Any
    ) -> None:
        """Print each array with its place in the model, its shape and its number of parameters.

        Keras' other arguments have no effect.
        """
        rows = [("array", "name", "shape", "parameters")]
        for row in parameters(self.structure):
            size = row.size(self.structure)
            rows.append((row.path.replace("/", "."), row.name, f"{size}", f"{math.prod(size):,}"))
        title = f"{self.structure.type.value}: {self.count_params():,} parameters"
        (print_fn or print)(f"{title}\n{table(rows)}".removesuffix("\n"))

    def network(self) -> Network:
        """A differentiable network that reads the variables' current values.

        Call this inside each compiled function, so that traces remain valid after `assign`. Joining
        matrices there costs little compared with multiplying by them.
        """
        return Network(self.structure, self.parameters, self.compute_dtype, packed=self.packed)

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """Forced decoding: source (B,S[,F]), mask (B,S), target (B,T) -> logits (B,T,V)."""
        network = self.network()
        logits = network.read_out(*unroll(network, *inputs, differentiable=True))
        return tf.transpose(logits, [1, 0, 2])


def array_of(variable: keras.Variable | tf.Variable) -> np.ndarray:
    """A variable's current value as a read-only array, without a copy on CPUs.

    A later assignment does not change the array, because TensorFlow writes into a variable's memory
    only if nothing else reads it.
    """
    array = np.asarray(tf.convert_to_tensor(variable))
    array.flags.writeable = False
    return array
