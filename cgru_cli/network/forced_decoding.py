"""Forced decoding: run the network over given translations, for scoring and training."""

from typing import NamedTuple, Self

import tensorflow as tf

from .inference import with_gradient
from .ladder.levels import Recurrence
from .network import Network
from .scan import scan


class Unrolled(NamedTuple):
    """The readout's inputs at every target position, time first."""

    recurrence: Recurrence  # (T,B,..) each
    previous: tf.Tensor | tuple  # (T,B,E) E[y_{j-1}] V_o; () for labels, and without feedback
    words: tf.Tensor | tuple  # (T,B,Es) sum_i alpha_ij E_x[x_i], for a lexical model

    def alignment(self) -> tf.Tensor | tuple:
        """(B,T,S) float32; () without attention."""
        return tf.nest.map_structure(
            lambda x: tf.transpose(x, [1, 0, 2]), self.recurrence.alignment
        )


def unroll(
    network: Network,
    source: tf.Tensor,
    source_mask: tf.Tensor,
    target: tf.Tensor,
    *,
    differentiable: bool = False,
) -> Unrolled:
    """Run encoder and decoder over a batch; each position reads the reference words before it.

    source: (B,S[,F]) int32; source_mask: (B,S) float32; target: (B,T) int32, ended by EOS.
    Only the recurrence runs step by step: the embeddings before it and the readout after it are
    computed for all positions at once.
    """
    memory = network.encode(source, source_mask, differentiable=differentiable)
    target = tf.transpose(target)  # (T,B)
    previous = tf.concat([tf.fill(tf.shape(target[:1]), -1), target[:-1]], axis=0)
    kept = network.masks.get("target")
    x, previous = network.embed(previous, kept if kept is None else tf.transpose(kept))
    if not network.structure.type.writes_text:
        return Unrolled(memory.at_all(tf.shape(target)[0], x), (), ())
    start = network.start(memory)
    cell = network.decoder.cell(memory, None)
    steps = () if tf.is_tensor(x) else target[:, :0]  # without feedback only the target has T rows
    recurrence, _ = scan(cell, start.cells, x, steps, differentiable=differentiable)
    words = ()
    if network.structure.lexical:
        weights = tf.transpose(recurrence.alignment, [1, 0, 2])
        words = tf.transpose(tf.matmul(weights, memory.embeddings), [1, 0, 2])
        if "lexical" in network.masks:
            words *= network.masks["lexical"]
    return Unrolled(recurrence, previous, words)


def time_first(x: tf.Tensor) -> tf.Tensor:
    """(B,T,..) -> (T*B,..)."""
    turned = tf.transpose(x, [1, 0, *range(2, x.shape.rank)])
    return tf.reshape(turned, tf.concat([[-1], tf.shape(turned)[2:]], axis=0))


class Words(NamedTuple):
    """The N of a batch's T*B target positions that are not padding."""

    index: tf.Tensor  # (N,) int32: flat positions, time first
    places: tf.Tensor  # (T*B,) int32: the place of each position in `index`, N for padding
    sentence: tf.Tensor  # (N,) int32: the sentence of each word

    @classmethod
    def of(cls, mask: tf.Tensor) -> Self:
        """mask: (B,T), 1 at words."""
        flat = tf.reshape(tf.transpose(mask), [-1])
        index = tf.cast(tf.where(flat > 0)[:, 0], tf.int32)
        count = tf.size(index)
        places = tf.tensor_scatter_nd_update(
            tf.fill(tf.shape(flat), count), index[:, None], tf.range(count)
        )
        return cls(index, places, index % tf.shape(mask)[0])

    def taken(self, x: tf.Tensor) -> tf.Tensor:
        """(B,T,..) -> (N,..)."""
        return tf.gather(time_first(x), self.index)

    def rows(self, unrolled: Unrolled) -> Unrolled:
        """The readout's inputs at these positions, (N,..) each.

        The gradient is a selection too, whereas the gradient of `tf.gather` is a slow scatter.
        """

        @with_gradient
        def selected(flat: tf.Tensor) -> tuple:
            def gradient(dy: tf.Tensor) -> tf.Tensor:
                padded = tf.concat([dy, tf.zeros_like(dy[:1])], axis=0)
                return tf.gather(padded, self.places)

            return tf.gather(flat, self.index), gradient

        def at_words(x: tf.Tensor) -> tf.Tensor:
            shape = tf.shape(x)
            return selected(tf.reshape(x, tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0)))

        return tf.nest.map_structure(at_words, unrolled)

    def put_back(self, x: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
        """(N,) -> (B,T), the shape of batch, 0 at padding."""
        flat = tf.gather(tf.concat([x, tf.zeros_like(x[:1])], axis=0), self.places)
        return tf.transpose(tf.reshape(flat, tf.shape(tf.transpose(batch))))
