"""The words of a batch's targets, without padding, and their log-probabilities."""

from typing import NamedTuple, Self

import tensorflow as tf

from ..network.forced_decoding import Unrolled, unroll
from ..network.network import Network
from ..parameters.structure import Structure
from .word_costs import word_costs


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

        @tf.custom_gradient
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


def signature(structure: Structure) -> tuple[tf.TensorSpec, ...]:
    """The types of a batch: source (B,S,F), its mask (B,S), target (B,T) and its mask (B,T)."""
    mask = tf.TensorSpec([None, None])
    source = tf.TensorSpec([None, None, structure.source_columns], tf.int32)
    return source, mask, tf.TensorSpec([None, None], tf.int32), mask


def score(
    network: Network,
    source: tf.Tensor,
    source_mask: tf.Tensor,
    target: tf.Tensor,
    mask: tf.Tensor,
) -> tf.Tensor:
    """log p(y_j | y_<j, x) of known translations, (B,T) in nats, 0 at padding."""
    unrolled = unroll(network, source, source_mask, target)
    words = Words.of(mask)
    logits = network.read_out(*words.rows(unrolled), sentence=words.sentence)
    return words.put_back(-word_costs(logits, words.taken(target)), mask)
