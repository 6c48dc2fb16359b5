"""An LSTM over the words of a batch, with `scan` and with keras.layers.LSTM, and its gradients."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from cgru_cli.network.encoder import Readers
from cgru_cli.network.engines.scan import scan
from cgru_cli.network.ladder.levels import Levels
from cgru_cli.network.ladder.lm import Chain
from cgru_cli.network.layers import Layers
from cgru_cli.parameters.cell_names import input_arrays, state_arrays
from cgru_cli.parameters.cells import base_cells, encoder_cells
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Structure, Unit


class Recurrences:
    """The first reader of a shallow structure, or the cell of a language model, in two versions.

    Both read x (B,T,E) with mask (B,T), and return the states (B,T,D) and the gradients of
    sum(states * weights) with respect to x and the cell's arrays. A language model ignores the
    mask.
    """

    def __init__(self, structure: Structure):
        """Raises ValueError if the cells are not LSTMs."""
        s = structure
        self.masked = s.type.reads_source
        cell = encoder_cells(s, s.directions(1)[0], 1)[0] if self.masked else base_cells(s)[0]
        if cell.unit is not Unit.LSTM:
            raise ValueError(f"{cell.path}: not an LSTM")
        self.width, self.state = s.sizes()[cell.input], s.state
        paths = (*input_arrays(cell), *state_arrays(cell), f"{cell.path}/b")
        initial = initial_arrays(s, "scaled", 1)
        by_path = {p.path: p.name for p in parameters(s)}
        self._names = [by_path[path] for path in paths]
        self._arrays = {name: tf.constant(array) for name, array in initial.items()}
        self._structure, self._cell = s, cell
        self._layer = keras.layers.LSTM(s.state, return_sequences=True)
        self._layer.build((None, None, self.width))
        # Keras has the blocks i f g o, cgru f i g o
        self._layer.set_weights([_turned(initial[name]) for name in self._names])
        given = [
            tf.TensorSpec([None, None, self.width]),
            tf.TensorSpec([None, None]),
            tf.TensorSpec([None, None, self.state]),
        ]
        self.scan = tf.function(self._by_scan, input_signature=given, autograph=False)
        self.keras = tf.function(self._by_keras, input_signature=given, autograph=False)

    def inputs(self, mask: np.ndarray) -> tuple[tf.Tensor, ...]:
        """Random x and weights for sentences of these lengths; weights are 0 at padding."""
        x, weights = (tf.random.normal([*mask.shape, n]) for n in (self.width, self.state))
        return x, tf.constant(mask), weights * mask[..., None]

    def difference(self, *given: tf.Tensor) -> float:
        """The largest difference of states and gradients, relative to the largest value of each."""
        (states, ours), (same, theirs) = self.scan(*given), self.keras(*given)
        words = given[1][..., None]
        pairs = [(states * words, same * words), (ours[0], theirs[0])]
        pairs += [(_turned(a.numpy()), b) for a, b in zip(ours[1:], theirs[1:], strict=True)]
        return max(float(np.abs(np.subtract(a, b)).max() / np.abs(b).max()) for a, b in pairs)

    def _by_scan(self, x: tf.Tensor, mask: tf.Tensor, weights: tf.Tensor) -> tuple:
        values = [self._arrays[name] for name in self._names]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x, *values])
            layers = Layers(self._structure, self._arrays, "float32", {})
            product, (transition,) = layers.reader([self._cell])
            (xW,) = product(tf.transpose(x, [1, 0, 2]))
            zeros = tf.zeros([tf.shape(x)[0], self.state])
            carry, inputs = ((zeros, zeros),), transition.unit.sums.from_input(xW)
            if self.masked:
                steps = tf.transpose(mask)[..., None]
                (states,), _ = scan(Readers([[transition]]), carry, ((inputs, ()),), (steps,))
            else:
                chain = Chain(transition, Levels.of(layers, []))
                states = scan(chain, carry, inputs)[0].top
            states = tf.transpose(states, [1, 0, 2])
            total = tf.reduce_sum(states * weights)
        return states, tape.gradient(total, [x, *values])

    def _by_keras(self, x: tf.Tensor, mask: tf.Tensor, weights: tf.Tensor) -> tuple:
        values = [variable.value for variable in self._layer.trainable_variables]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x, *values])
            states = self._layer(x, mask=mask > 0 if self.masked else None)
            total = tf.reduce_sum(states * weights)
        return states, tape.gradient(total, [x, *values])


def _turned(array: np.ndarray) -> np.ndarray:
    """Swap the blocks f i g o and i f g o."""
    f, i, g, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, f, g, o], axis=-1)
