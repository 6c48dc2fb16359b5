"""Gradient norms of each parameter and of each step of the recurrences.

A nudge n_t = 0 is added to every new state h_t before anything reads it. The gradient with respect
to n_t is then all of d cost / d h_t: through the readout, the next state, attention and the levels
above. The rest of the computation is the same as in training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..corpus.batches import Batch
from ..network.attention import Place
from ..network.ladder.levels import Recurrence, States
from ..network.network import Decoder, Network
from ..network.ops import ScanCell
from ..network.units import UnitState, tensors_of_state
from ..parameters.structure import Structure, Unit
from .step import TrainingStep, any_size, tensors_of

ARRAYS = ("h", "c")  # the arrays of a state; c is an LSTM's memory


class GradientNorms(NamedTuple):
    """Costs and norms of one batch.

    States have names such as "decoder.1.h" (level 1), "decoder.1.c" (an LSTM's memory) and
    "encoder.1.backward.h". Each has one number per step: the mean over the sentences that have
    this step. Steps are counted from the beginning of a sentence; for the cost of the last word,
    the decoder's steps are counted backwards from that word.
    """

    cost: float  # sum over the batch, nats
    parameters: dict[str, float]  # the gradient of `cost`
    states: dict[str, list[float]]  # the gradient of a sentence's cost
    last_word_cost: float  # mean cost of a sentence's last word, before EOS
    last_word: dict[str, list[float]]  # the gradient of the cost of a sentence's last word

    def to_json(self, count: int) -> dict[str, Any]:
        """A record for the log, with six digits; count: the divisor of the cost."""

        def short(norm: float) -> float:
            return float(f"{norm:.6g}")

        parameters = {name: norm / count for name, norm in self.parameters.items()}
        return {
            "cost": self.cost / count,
            "norm": math.hypot(*parameters.values()),
            "parameters": {name: short(norm) for name, norm in parameters.items()},
            "states": {name: [*map(short, norms)] for name, norms in self.states.items()},
            "last_word_cost": self.last_word_cost,
            "last_word": {name: [*map(short, norms)] for name, norms in self.last_word.items()},
        }


class GradientProbe:
    """Measures the gradient of a model in training, without changing the model."""

    def __init__(self, step: TrainingStep):
        self.step = step
        self._norms = tf.function(self._batch_norms, autograph=False)
        self._traced: Any = None

    def norms(self, batch: Batch, masks: Mapping[str, np.ndarray]) -> GradientNorms:
        """All norms for a batch and its dropout masks."""
        mask = np.asarray(batch.target_mask)
        ends = self.step.model.structure.type.writes_text  # the mask counts EOS
        last = np.maximum(mask.sum(axis=1).astype(int) - 1 - ends, 0)
        only_last = mask * (np.arange(mask.shape[1]) == last[:, None])
        cost, parameters, states = self._run(batch, masks)
        last_cost, _, last_states = self._run(batch._replace(target_mask=only_last), masks)
        source = np.asarray(batch.source_mask) * mask[:, :1]  # 0 in rows of padding

        def by_position(name: str, norms: np.ndarray) -> list[float]:
            return _means(norms, (source if name.startswith("encoder") else mask).T > 0)

        def last_word(name: str, norms: np.ndarray) -> list[float]:
            if name.startswith("encoder"):
                return by_position(name, norms)
            return _means(*_backwards(norms, last, mask[:, 0] > 0))

        return GradientNorms(
            cost,
            parameters,
            {name: by_position(name, norms) for name, norms in states.items()},
            last_cost / max(float(only_last.sum()), 1.0),
            {name: last_word(name, norms) for name, norms in last_states.items()},
        )

    def _run(self, batch: Batch, masks: Mapping[str, np.ndarray]) -> tuple:
        scale = self.step.loss_scale.scale
        arguments = tensors_of((batch, masks), scale)
        self._traced = self._traced or self._norms.get_concrete_function(*any_size(arguments))
        cost, parameters, states = self._traced(*arguments)
        return (
            float(cost) / scale,
            {name: float(norm) / scale for name, norm in parameters.items()},
            {name: norm.numpy() / scale for name, norm in states.items()},
        )

    def _batch_norms(
        self, batch: Batch, masks: dict[str, tf.Tensor], scale: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """Cost (); norms of parameters, () each; norms of states, (T,B) or (S,B) each."""
        model = self.step.model
        arrays = {name: variable.value for name, variable in model.parameters.items()}
        values = {name: arrays[name] for name in self.step.trained}
        nudges = zeros(model.structure, batch)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch((values, nudges))
            network = NudgedNetwork(nudges, model.structure, arrays, model.compute_dtype, masks)
            cost = scale * self.step.objective.cost(network, batch)
        d_arrays, d_states = tape.gradient(cost, (values, nudges), unconnected_gradients="zero")
        flat = {name: tf.reshape(tf.convert_to_tensor(d), [-1]) for name, d in d_arrays.items()}
        return (
            cost,
            {name: _norm(gradient) for name, gradient in flat.items()},
            {name: _norm(gradient) for name, gradient in d_states.items()},
        )


def zeros(structure: Structure, batch: Batch) -> dict[str, tf.Tensor]:
    """A nudge for every state of a batch: (T,B,D) in the decoder, (S,B,D) in the encoder."""
    rows, words = tf.unstack(tf.shape(batch.target))
    nudges = {}
    for level in structure.decoder_levels():
        for array in ARRAYS[: tensors_of_state(structure.decoder_unit)]:
            nudges[f"decoder.{level}.{array}"] = tf.zeros([words, rows, structure.state])
    if structure.type.reads_source:
        positions = tf.shape(batch.source)[1]
        for level in structure.encoder_levels():
            for direction in structure.directions(level):
                for array in ARRAYS[: tensors_of_state(structure.encoder_unit)]:
                    name = f"encoder.{level}.{direction}.{array}"
                    nudges[name] = tf.zeros([positions, rows, structure.state])
    return nudges


class NudgedNetwork(Network):
    """A network that adds the nudges of `zeros` to its states, for one batch.

    The network is not packed, because each position has its own nudges.
    """

    def __init__(self, nudges: Mapping[str, tf.Tensor], *network: Any):
        """network: the arguments of `Network`."""
        super().__init__(*network)

        def nudge(place: str, unit: Unit) -> UnitState:
            return tuple(nudges[f"{place}.{array}"] for array in ARRAYS[: tensors_of_state(unit)])

        s = self.structure
        self.nudges: States = tuple(
            nudge(f"decoder.{level}", s.decoder_unit) for level in s.decoder_levels()
        )
        if self.nudges:
            self.decoder = _NudgedDecoder(self.decoder)
        for level in s.encoder_levels():
            for direction in s.directions(level):
                place = f"encoder.{level}.{direction}"
                self.encoder.nudges[level, direction] = nudge(place, s.encoder_unit)

    def embed(self, previous: tf.Tensor, kept: tf.Tensor | None = None) -> tuple:
        """The scan's input for each word: its embedding and the nudges of its step."""
        x, readout = super().embed(previous, kept)
        return (x, self.nudges), readout


class _NudgedDecoder:
    """A decoder whose cell also reads the nudges of its step."""

    def __init__(self, decoder: Decoder):
        self.memory, self.start, self._cell = decoder.memory, decoder.start, decoder.cell

    def cell(self, memory: Any, place: Place | None) -> ScanCell:
        return _NudgedCell(self._cell(memory, place))


class _NudgedCell(NamedTuple):
    cell: Any

    def step(self, states: States, x: tuple, fixed: tuple = ()) -> tuple[Recurrence, States]:
        word, nudges = x
        levels = self.cell.levels._replace(nudges=nudges)
        return self.cell._replace(levels=levels).step(states, word, fixed)


def _norm(x: tf.Tensor) -> tf.Tensor:
    """The norm over the last axis, without overflow or underflow of the squares."""
    largest = tf.reduce_max(tf.abs(x), axis=-1, keepdims=True)
    norm = largest[..., 0] * tf.norm(tf.math.divide_no_nan(x, largest), axis=-1)
    return tf.where(tf.math.is_finite(largest[..., 0]), norm, largest[..., 0])


def _backwards(norms: np.ndarray, last: np.ndarray, rows: np.ndarray) -> tuple:
    """(T,B) by the distance from each sentence's last word, and where that step exists."""
    steps = last - np.arange(len(norms))[:, None]
    return np.take_along_axis(norms, np.maximum(steps, 0), axis=0), (steps >= 0) & rows


def _means(norms: np.ndarray, here: np.ndarray) -> list[float]:
    """The mean at each step, over the sentences that have this step."""
    counts = here.sum(axis=1)
    sums = np.where(here, norms, 0).sum(axis=1, dtype=np.float64)
    return [float(total / count) for total, count in zip(sums, counts, strict=True) if count]
