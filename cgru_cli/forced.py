"""Forced decoding: the network run over given translations, as scoring and training need it."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from .network import Network, Recurrence, State


class Forced(NamedTuple):
    """What a network says of given target words; T counts EOS."""

    logits: tf.Tensor  # (B,T,V) float32
    alignment: tf.Tensor  # (B,T,S) float32


def force_decode(
    network: Network, source: tf.Tensor, source_mask: tf.Tensor, target: tf.Tensor
) -> Forced:
    """Logits and alignment at every target position, each given the words before it.

    source: (B,S[,F]) int32; source_mask: (B,S) float32; target: (B,T) int32, ended by EOS.
    Only the recurrence runs step by step: embeddings before it and the readout behind it are one
    product over all positions.
    """
    memory = network.encode(source, source_mask)
    state = network.start(memory)
    target = tf.transpose(target)  # (T,B)
    length = tf.shape(target)[0]
    previous = tf.concat([tf.fill(tf.shape(target[:1]), -1), target[:-1]], axis=0)
    x, readout_of_previous = network.embed(previous)
    first, _ = network.recur(state, x[0], memory)
    arrays = tf.nest.map_structure(
        lambda part: tf.TensorArray(tf.float32, length, element_shape=part.shape), first
    )

    def body(t: tf.Tensor, state: State, outputs: Recurrence) -> tuple:
        recurrence, state = network.recur(state, x[t], memory)
        written = tf.nest.map_structure(
            lambda array, part: array.write(t, part), outputs, recurrence
        )
        return t + 1, state, written

    _, _, outputs = tf.while_loop(
        lambda t, *_: t < length, body, (tf.constant(0), state, arrays), maximum_iterations=length
    )
    recurrence = tf.nest.map_structure(lambda array: array.stack(), outputs)
    logits = network.read_out(recurrence, readout_of_previous)
    return Forced(tf.transpose(logits, [1, 0, 2]), tf.transpose(recurrence.alignment, [1, 0, 2]))


def log_probabilities(forced: Forced, target: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """log p(y_j | y_<j, x) of each target word, 0 at padding: (B,T) float32, nats."""
    costs = tf.nn.sparse_softmax_cross_entropy_with_logits(target, forced.logits)
    return -costs * mask
