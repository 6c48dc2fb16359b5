"""One or several models, looked at as a distribution over the next word.

A `Ensemble` holds the networks; a `Lattice` the rows (partial translations) of one batch while a
search extends them. An ensemble adds its members' weighted log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..network.network import Network, SearchState

# Rows of the memory are dropped with their sentences once this share of them is finished: each
# drop copies what is left.
COMPACT_BELOW = 0.75


class Expansion(NamedTuple):
    """What each row could be extended by; N words a row, the most probable first."""

    words: np.ndarray  # (R,N) int32
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32: each model's own
    alignment: np.ndarray | None  # (R,S) float32: mean over the models


class Ensemble:
    """Models that share a target vocabulary, and their weights in the sum."""

    def __init__(self, networks: Sequence[Network], weights: Sequence[float]):
        self.networks = list(networks)
        self.weights = [float(weight) for weight in weights]
        self.vocabulary = networks[0].structure.target_vocabulary
        self._begin = [_beginning(network) for network in self.networks]
        # what a beginning gives is what the steps behind it take, with any number of rows
        begun = [_unbound(begin.structured_outputs) for begin in self._begin]
        rows = tf.TensorSpec([None], tf.int32)
        self._states = [state for state, _ in begun]
        self._memories = [memory for _, memory in begun]
        signature = (self._states, self._memories, rows, rows, tf.TensorSpec([], tf.int32))
        self._best = tf.function(self._advance_best, input_signature=signature, autograph=False)
        self._all = tf.function(self._advance_all, input_signature=signature[:-1], autograph=False)
        self._keep = tf.function(
            lambda memories, kept: tf.nest.map_structure(lambda x: tf.gather(x, kept), memories),
            input_signature=(self._memories, rows),
            autograph=False,
        )
        self._append = tf.function(
            lambda *nests: tf.nest.map_structure(_appended, *nests),
            input_signature=((self._states, self._memories),) * 2,
            autograph=False,
        )

    def begin(self, sources: Sequence[tuple[np.ndarray, np.ndarray]]) -> Lattice:
        """Encode a batch, given as each model reads it: ids (B,S,F) and mask (B,S)."""
        begun = [f(*source) for f, source in zip(self._begin, sources, strict=True)]
        return Lattice(self, [state for state, _ in begun], [memory for _, memory in begun])

    def _step(self, states, memories, parents, previous):
        """One step of every model on the chosen rows.

        A state's fields still have the last call's rows, its sentence and slot are the new rows'.
        """
        logits, new_states, alignments = [], [], []
        for network, state, memory in zip(self.networks, states, memories, strict=True):
            chosen = tf.nest.map_structure(lambda x: tf.gather(x, parents), state.cells)
            state = state._replace(cells=chosen)
            model_logits, state, alignment = network.step(state, previous, memory)
            logits.append(model_logits)
            new_states.append(state)
            alignments.append(alignment)
        return logits, new_states, alignments

    def _advance_best(self, states, memories, parents, previous, count):
        logits, states, alignments = self._step(states, memories, parents, previous)
        if len(logits) == 1:  # the maximum is known: the log-softmax needs no pass of its own
            values, words = best(logits[0], count)
            largest = values[:, :1]
            total = tf.reduce_sum(tf.exp(logits[0] - largest), axis=-1, keepdims=True)
            own = (values - largest - tf.math.log(total))[..., None]
            log_probs = own[..., 0] * self.weights[0]
        else:
            each = [tf.nn.log_softmax(part) for part in logits]
            log_probs, words = best(self._weighted(each), count)
            own = tf.stack([tf.gather(part, words, batch_dims=1) for part in each], axis=-1)
        return words, log_probs, own, states, alignments

    def _advance_all(self, states, memories, parents, previous):
        logits, states, alignments = self._step(states, memories, parents, previous)
        own = [tf.nn.log_softmax(part) for part in logits]
        return self._weighted(own), tf.stack(own, axis=-1), states, alignments

    def _weighted(self, log_probs: list[tf.Tensor]) -> tf.Tensor:
        return tf.add_n(
            [weight * part for weight, part in zip(self.weights, log_probs, strict=True)]
        )


def best(x: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The `count` largest of each row of (R,V), largest first, as `tf.math.top_k`.

    That looks at every number one by one, which at 30,000 words costs a third of the output
    layer's product. The largest numbers lie in the blocks with the largest maxima: only those
    blocks are looked into. Equal numbers come in the vocabulary's order here too.
    """
    vocabulary = x.shape[-1]
    width = next((w for w in range(128, 64, -1) if vocabulary % w == 0), 128)
    if vocabulary < 64 * width:
        return tf.math.top_k(x, tf.minimum(count, vocabulary))
    if vocabulary % width:
        x = tf.pad(x, [[0, 0], [0, -vocabulary % width]], constant_values=x.dtype.min)
    blocks = tf.reshape(x, [-1, x.shape[-1] // width, width])
    taken = tf.minimum(count, blocks.shape[1])
    _, which = tf.math.top_k(tf.reduce_max(blocks, axis=-1), taken)
    which = tf.sort(which, axis=-1)
    candidates = tf.gather(blocks, which, batch_dims=1)
    values, places = tf.math.top_k(tf.reshape(candidates, [-1, taken * width]), count)
    return values, tf.gather(which, places // width, batch_dims=1) * width + places % width


def _appended(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Rows below rows; an axis of any size behind the first is the source's, and is padded."""
    if x.shape.rank > 1 and x.shape[1] is None:
        longest = tf.maximum(tf.shape(x)[1], tf.shape(y)[1])
        x, y = (
            tf.pad(z, [[0, 0], [0, longest - tf.shape(z)[1]]] + [[0, 0]] * (z.shape.rank - 2))
            for z in (x, y)
        )
    return tf.concat([x, y], axis=0)


def _beginning(network: Network) -> tf.types.experimental.ConcreteFunction:
    """Source ids (B,S,F) and mask (B,S) -> state and memory."""

    def begin(source: tf.Tensor, mask: tf.Tensor) -> tuple[SearchState, Any]:
        memory = network.encode(source, mask, search=True)
        return network.start(memory), memory

    return tf.function(begin, autograph=False).get_concrete_function(
        tf.TensorSpec([None, None, len(network.structure.source_embeddings)], tf.int32),
        tf.TensorSpec([None, None], tf.float32),
    )


def _unbound(nest: Any) -> Any:
    """Specifications with any number of rows, for they change in the course of a search."""
    return tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype), nest
    )


class Lattice:
    """The rows of a search: every model's states and memory, and which sentence a row is of."""

    def __init__(self, decoder: Ensemble, states: list[SearchState], memories: list[Any]):
        self.decoder = decoder
        self._states, self._memories = states, memories
        self._sentences = int(states[0].sentence.shape[0])
        self._row_of = np.arange(self._sentences)  # sentence -> row of the memory
        self.rows = self._sentences  # of the last call

    def join(self, other: Lattice) -> Lattice:
        """Both searches as one; the other's sentences and rows are numbered behind these."""
        self._states, self._memories = self.decoder._append(
            (self._states, self._memories), (other._states, other._memories)
        )
        self._row_of = np.append(self._row_of, other._row_of + self._sentences)
        self._sentences += other._sentences
        self.rows += other.rows
        return self

    def expand(
        self,
        sentences: np.ndarray,
        parents: np.ndarray,
        previous: np.ndarray,
        count: int | None,
        with_alignment: bool,
    ) -> Expansion:
        """Extend rows by their `count` best words, or (None) by all, in the vocabulary's order.

        sentences, parents, previous: (R,) int32: the sentence of each new row (ascending), the
        row of the last call that it continues, and its last word (-1 at the start).
        """
        self._compact(sentences)
        rows = self._row_of[sentences].astype(np.int32)
        first = np.concatenate([[True], sentences[1:] != sentences[:-1]])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
        slots = (np.arange(len(rows)) - starts).astype(np.int32)
        states = [state._replace(sentence=rows, slot=slots) for state in self._states]
        if count is None:
            log_probs, own, self._states, alignments = self.decoder._all(
                states, self._memories, parents, previous
            )
            log_probs = log_probs.numpy()
            words = np.broadcast_to(np.arange(log_probs.shape[1], dtype=np.int32), log_probs.shape)
        else:
            count = min(count, self.decoder.vocabulary)
            words, log_probs, own, self._states, alignments = self.decoder._best(
                states, self._memories, parents, previous, count
            )
            words, log_probs = words.numpy(), log_probs.numpy()
        of_models = [alignment.numpy() for alignment in alignments if tf.is_tensor(alignment)]
        self.rows = len(sentences)
        alignment = None
        if with_alignment and of_models:
            same = [part for part in of_models if part.shape == of_models[0].shape]
            alignment = np.mean(same, axis=0)
        return Expansion(words, log_probs, own.numpy(), alignment)

    def _compact(self, sentences: np.ndarray) -> None:
        """Let go of finished sentences' memory when enough of it is idle."""
        live = np.unique(sentences)
        if len(live) >= COMPACT_BELOW * self._sentences:
            return
        kept = self._row_of[live].astype(np.int32)
        self._memories = self.decoder._keep(self._memories, kept)
        self._row_of = np.full(len(self._row_of), -1)
        self._row_of[live] = np.arange(len(live))
        self._sentences = len(live)
