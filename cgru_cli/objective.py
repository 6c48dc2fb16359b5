"""The training objective: cross-entropy of the words of a batch, with label smoothing."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from .forced import unroll
from .network import Network


class Examples(NamedTuple):
    """A batch as the device computes it; B sentences, EOS ends and pads."""

    source: tf.Tensor  # (B,S,F) int32
    source_mask: tf.Tensor  # (B,S) float32
    target: tf.Tensor  # (B,T) int32
    target_mask: tf.Tensor  # (B,T) float32


def cross_entropy(
    network: Network, examples: Examples, label_smoothing: float = 0.0, *, packed: bool
) -> tf.Tensor:
    """Sum of -log p(y_j | y_<j, x) over the words of a batch, in nats: ().

    Label smoothing (Szegedy et al. 2016, as Marian): (1-e) of it, and e of the mean over the
    vocabulary. packed: only words are read out, no padding; compiled code, whose shapes are fixed,
    reads out everything.
    """
    source, source_mask, target, mask = examples
    unrolled = unroll(network, source, source_mask, target, differentiable=True)
    words, weights, sentence = tf.transpose(target), tf.transpose(mask), None
    if packed:
        flat = tf.reshape(weights, [-1])
        index = tf.cast(tf.where(flat > 0)[:, 0], tf.int32)
        count = tf.size(index)
        places = tf.tensor_scatter_nd_update(
            tf.fill(tf.shape(flat), count), index[:, None], tf.range(count)
        )
        unrolled = unrolled.rows(index, places)
        sentence = index % tf.shape(target)[0]
        words = tf.gather(tf.reshape(words, [-1]), index)
        weights = tf.gather(flat, index)
    logits = network.read_out(*unrolled, sentence)
    costs = tf.nn.sparse_softmax_cross_entropy_with_logits(words, logits)
    if label_smoothing:
        of_words = tf.gather(logits, words, batch_dims=words.shape.rank)
        costs += label_smoothing * (of_words - tf.reduce_mean(logits, axis=-1))
    return tf.reduce_sum(costs * weights)
