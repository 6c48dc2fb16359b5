"""One or several models, searched as one distribution over the next word.

An ensemble adds its members' weighted log-probabilities. `Ensemble.begin` encodes a batch and
returns the `Lattice` that a search extends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..network.inference import compiled
from ..network.network import Network, SearchState
from ..network.readout import OutputColumns
from ..network.top_k import top_k
from .lattice import Chosen, Encoded, Sources, Stepped, Stepper, Wanted

if TYPE_CHECKING:
    from ..network.keras_model import RecurrentModel


class Steps(NamedTuple):
    """The compiled steps of all models; see the `Ensemble` methods of the same names."""

    best: Compiled
    every: Compiled
    asked: Compiled


class Ensemble(Stepper):
    """Models that share a target vocabulary, and their weights in the sum."""

    def __init__(self, models: Sequence[Network | RecurrentModel], weights: Sequence[float]):
        self.models = list(models)
        self.weights = [float(weight) for weight in weights]
        self.vocabulary = models[0].structure.target_vocabulary
        self._begin = [_beginning(model) for model in self.models]
        # steps accept the states and memories of `_begin`, with any number of rows
        begun = [_any_rows(begin.structured_outputs) for begin in self._begin]
        states, memories = [state for state, _ in begun], [memory for _, memory in begun]
        rows = tf.TensorSpec([None], tf.int32)
        self._signature = (states, memories, rows, rows)
        self.steps = self._compiled_steps()
        networks = [model.network() for model in models]
        self._quantized = networks[0].quantized
        if models[0].structure.type.writes_text:  # there are shortlists of words, but not of labels
            columns = [network.read_out.columns(tf.constant([0])) for network in networks]
            columns = tf.nest.map_structure(_any_columns, columns)
            self.narrow_steps = self._compiled_steps([x._replace(sets=rows) for x in columns])
        self._keep = Compiled(_kept, memories, rows, rows)
        self._append = Compiled(_appended, (states, memories), (states, memories))

    def encode(self, sources: Sources) -> Encoded:
        begun = [f(*source) for f, source in zip(self._begin, sources, strict=True)]
        return [state for state, _ in begun], [memory for _, memory in begun]

    def columns(self, words: np.ndarray, members: np.ndarray) -> list[OutputColumns]:
        layers = [model.network().read_out.columns(tf.constant(words)) for model in self.models]
        return [layer._replace(members=tf.constant(members)) for layer in layers]

    def keep(self, memories: list[Any], rows: np.ndarray, lengths: np.ndarray) -> list[Any]:
        return self._keep(memories, rows, lengths)

    def append(self, first: Any, second: Any) -> Any:
        return self._append(first, second)

    def step(
        self, states: list[SearchState], memories: list[Any], chosen: Chosen, wanted: Wanted
    ) -> Stepped:
        count, asked, narrow = wanted
        states = [one._replace(sentence=chosen.sentence, slot=chosen.slot) for one in states]
        given = (states, memories, chosen.parents, chosen.previous)
        steps, columns = self.steps, []
        if narrow is not None:
            sets = tf.constant(narrow.sets)
            steps = self.narrow_steps
            columns = [[layer._replace(sets=sets) for layer in narrow.columns]]
        words = None
        if count is None:
            log_probs, own, states, alignments = steps.every(*given, *columns)
        elif asked is None:
            words, log_probs, own, states, alignments = steps.best(*given, count, *columns)
        else:
            words, log_probs, own, states, alignments = steps.asked(*given, count, *asked, *columns)
        return Stepped(
            None if words is None else words.numpy(),
            log_probs.numpy(),
            own.numpy(),
            states,
            [alignment.numpy() for alignment in alignments if tf.is_tensor(alignment)],
        )

    def _compiled_steps(self, *columns: Any) -> Steps:
        """Steps with the whole output layer, or with some of its columns."""
        count, table = tf.TensorSpec([], tf.int32), tf.TensorSpec([None, None], tf.int32)
        pairs = tf.TensorSpec([None, 2], tf.int32)
        given = self._signature
        return Steps(
            Compiled(self.best, *given, count, *columns),
            Compiled(self.every, *given, *columns),
            Compiled(self.asked, *given, count, table, pairs, *columns),
        )

    def best(self, states, memories, parents, previous, count, columns=None):
        """The `count` most probable words of each row: indices in the output layer, scores."""
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        if len(logits) > 1 or self.models[0].structure.crf:
            each = self._log_probs(logits)
            log_probs, words = top_k(self._weighted(each), count)
            own = tf.stack([tf.gather(part, words, batch_dims=1) for part in each], axis=-1)
            return words, log_probs, own, states, alignments
        # the maximum is known, so the log-softmax needs no separate pass
        values, words = top_k(logits[0], count)
        largest = values[:, :1]
        if self._quantized:  # oneDNN's softmax takes half the time but rounds differently
            highest = tf.gather(tf.nn.softmax(logits[0]), words[:, :1], batch_dims=1)
            total = 1 / highest
        else:
            total = tf.reduce_sum(tf.exp(logits[0] - largest), axis=-1, keepdims=True)
        own = (values - largest - tf.math.log(total))[..., None]
        return words, own[..., 0] * self.weights[0], own, states, alignments

    def every(self, states, memories, parents, previous, columns=None):
        """The scores of all words of each row, in the order of the output layer."""
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        own = self._log_probs(logits)
        return self._weighted(own), tf.stack(own, axis=-1), states, alignments

    def asked(self, states, memories, parents, previous, count, asked, banned, columns=None):
        """Like `best`, followed by the words at the requested indices, (R,X).

        banned: (N,2) pairs of a row and an index, which get the score -inf.
        """
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        each = self._log_probs(logits)
        total = self._weighted(each)
        never = tf.fill([tf.shape(banned)[0]], tf.constant(-math.inf, total.dtype))
        total = tf.tensor_scatter_nd_update(total, banned, never)
        log_probs, words = top_k(total, count)
        words = tf.concat([words, asked], axis=1)
        log_probs = tf.concat([log_probs, tf.gather(total, asked, batch_dims=1)], axis=1)
        own = tf.stack([tf.gather(part, words, batch_dims=1) for part in each], axis=-1)
        return words, log_probs, own, states, alignments

    def _step(self, states, memories, parents, previous, columns):
        """One step of every model on the chosen rows.

        The cells of a state have the last step's rows; its sentence and slot have the new rows.
        """
        results = []
        columns = columns or [None] * len(self.models)
        members = zip(self.models, states, memories, columns, strict=True)
        for model, state, memory, own_columns in members:
            cells = tf.nest.map_structure(lambda x: tf.gather(x, parents), state.cells)
            state = state._replace(cells=cells)
            results.append(model.network().step(state, previous, memory, own_columns))
        return [list(part) for part in zip(*results, strict=True)]

    def _log_probs(self, logits: list[tf.Tensor]) -> list[tf.Tensor]:
        """Each model's log-probabilities, (R,V); a CRF's scores are left unchanged."""
        return [
            part if model.structure.crf else tf.nn.log_softmax(part)
            for model, part in zip(self.models, logits, strict=True)
        ]

    def _weighted(self, log_probs: list[tf.Tensor]) -> tf.Tensor:
        pairs = zip(self.weights, log_probs, strict=True)
        parts = [weight * part for weight, part in pairs if weight]  # 0 * -inf is not a number
        return tf.add_n(parts or [tf.zeros_like(log_probs[0])])


class Compiled:
    """A function of nested tensors, compiled for one signature at its first call."""

    def __init__(self, function: Callable[..., Any], *signature: Any):
        self._function, self._signature = function, signature
        self._trace: tf.types.experimental.ConcreteFunction | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._trace is None:
            self._trace = compiled(self._function, *self._signature)
        return self._trace(*arguments)


def _beginning(model: Network | RecurrentModel) -> tf.types.experimental.ConcreteFunction:
    """Source ids (B,S,F) and mask (B,S) -> state and memory."""

    def begin(source: tf.Tensor, mask: tf.Tensor) -> tuple[SearchState, Any]:
        network = model.network()
        memory = network.encode(source, mask, search=True)
        return network.start(memory), memory

    return compiled(
        begin,
        tf.TensorSpec([None, None, model.structure.source_columns], tf.int32),
        tf.TensorSpec([None, None], tf.float32),
    )


def _any_rows(nest: Any) -> Any:
    """Specifications without the number of rows, which changes during a search."""
    return tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype), nest
    )


def _any_columns(x: tf.Tensor) -> tf.TensorSpec:
    """The specification of an output-layer array (..,N) for any N and any number of sets."""
    sizes = [None if x.dtype == tf.bool else size for size in x.shape[:-1]]
    return tf.TensorSpec([*sizes, None], x.dtype)


def _has_source_axis(x: tf.Tensor) -> bool:
    """Whether an array of a memory or state has a source axis of any size, (B,S,..)."""
    return x.shape.rank > 1 and x.shape[1] is None


def _kept(memories: list[Any], rows: tf.Tensor, lengths: tf.Tensor) -> list[Any]:
    """Rows (B',) of memories, cut to the longest remaining source of each model (M,)."""

    def kept(x: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return tf.gather(x[:, :length] if _has_source_axis(x) else x, rows)

    return [
        tf.nest.map_structure(lambda x, length=lengths[model]: kept(x, length), memory)
        for model, memory in enumerate(memories)
    ]


def _appended(first: Any, second: Any) -> Any:
    """Concatenate nested arrays along the rows; shorter sources are padded."""

    def joined(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        if _has_source_axis(x):
            longest = tf.maximum(tf.shape(x)[1], tf.shape(y)[1])
            x, y = (
                tf.pad(z, [[0, 0], [0, longest - tf.shape(z)[1]]] + [[0, 0]] * (z.shape.rank - 2))
                for z in (x, y)
            )
        return tf.concat([x, y], axis=0)

    return tf.nest.map_structure(joined, first, second)
