"""One or several models, looked at as a distribution over the next word.

A `Decoder` holds the networks; a `Lattice` the rows (partial translations) of one batch while a
search extends them. An ensemble adds its members' weighted log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from .network import Memory, Network, State

# Rows of the memory are dropped with their sentences once this share of them is finished: each
# drop copies what is left.
COMPACT_BELOW = 0.75


class Expansion(NamedTuple):
    """What each row could be extended by; N words a row, the most probable first."""

    words: np.ndarray  # (R,N) int32
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32: each model's own
    alignment: np.ndarray | None  # (R,S) float32: mean over the models


class Decoder:
    """Models that share a target vocabulary, and their weights in the sum."""

    def __init__(self, networks: Sequence[Network], weights: Sequence[float]):
        self.networks = list(networks)
        self.weights = [float(weight) for weight in weights]
        self.vocabulary = networks[0].structure.target_vocabulary
        specs = [self._specs(network) for network in self.networks]
        rows = tf.TensorSpec([None], tf.int32)
        self._states = [state for state, _ in specs]
        self._memories = [memory for _, memory in specs]
        signature = (self._states, self._memories, rows, rows, tf.TensorSpec([], tf.int32))
        self._best = tf.function(self._advance_best, input_signature=signature, autograph=False)
        self._all = tf.function(self._advance_all, input_signature=signature[:-1], autograph=False)
        self._begin = [
            tf.function(
                lambda source, mask, n=network: _begin(n, source, mask),
                input_signature=(
                    tf.TensorSpec([None, None, len(network.source_embeddings)], tf.int32),
                    tf.TensorSpec([None, None], tf.float32),
                ),
                autograph=False,
            )
            for network in self.networks
        ]
        self._keep = tf.function(
            lambda memories, kept: [
                Memory(*(tf.gather(field, kept) for field in memory)) for memory in memories
            ],
            input_signature=(self._memories, rows),
            autograph=False,
        )

    @staticmethod
    def _specs(network: Network) -> tuple[State, Memory]:
        s = network.structure

        def spec(*shape: int | None, dtype: tf.DType = tf.float32) -> tf.TensorSpec:
            return tf.TensorSpec(shape, dtype)

        rows = spec(None, dtype=tf.int32)
        state = State(
            spec(None, s.state), tuple(spec(None, s.state) for _ in network.high), rows, rows
        )
        memory = Memory(
            spec(None, None, s.context, dtype=network.dtype),
            spec(None, None, s.context, dtype=network.dtype),
            spec(None, None),
            spec(None, None, sum(s.source_embeddings)),
        )
        return state, memory

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
            state = state._replace(
                base=tf.gather(state.base, parents),
                high=tuple(tf.gather(level, parents) for level in state.high),
            )
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


def _begin(network: Network, source: tf.Tensor, mask: tf.Tensor) -> tuple[State, Memory]:
    memory = network.encode(source, mask)
    return network.start(memory), memory


class Lattice:
    """The rows of one batch: every model's states and memory, and which sentence a row is of."""

    def __init__(self, decoder: Decoder, states: list[State], memories: list[Memory]):
        self.decoder = decoder
        self._states, self._memories = states, memories
        self._sentences = int(memories[0].mask.shape[0])
        self._row_of = np.arange(self._sentences)  # sentence -> row of the memory

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
        alignment = None
        if with_alignment:
            same = [a for a in alignments if a.shape == alignments[0].shape]
            alignment = np.mean([a.numpy() for a in same], axis=0)
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
