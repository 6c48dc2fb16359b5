"""The equations of attention and readout, in the letters of the DL4MT note (eq. 6-8).

Row vectors, as the arrays are stored. The recurrent units are in `units.py`.
Every function takes tensors and returns tensors; nothing here knows a parameter's name.
Letters: B sentences, R rows (hypotheses; R = B in training), S source length, D state, C context.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ..parameters.structure import Activation, Normalization

NEMATUS_EPSILON = 1e-5  # Nematus, layer and RMS norm
MARIAN_EPSILON = 1e-9


class Norm(NamedTuple):
    """Gains and biases of one normalisation; bias is None where the kind has none."""

    kind: Normalization
    gain: tf.Tensor  # (N,)
    bias: tf.Tensor | None  # (N,)


def normalize(x: tf.Tensor, norm: Norm | None) -> tf.Tensor:
    """Layer norm over the last axis (Ba et al. 2016), or Nematus-TF's RMS norm; (..., N)."""
    if norm is None:
        return x
    if norm.kind is Normalization.RMS:
        square = tf.reduce_mean(x * x, axis=-1, keepdims=True)
        return x * tf.math.rsqrt(square + NEMATUS_EPSILON) * norm.gain
    epsilon = MARIAN_EPSILON if norm.kind is Normalization.MARIAN else NEMATUS_EPSILON
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(centred * centred, axis=-1, keepdims=True)
    y = centred * tf.math.rsqrt(variance + epsilon) * norm.gain
    return y if norm.bias is None else y + norm.bias


def attend(projected: tf.Tensor, query: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Alignment alpha_ij = softmax_i v_a^T tanh(W_a h_i + U_a s'_j) (eq. 7, 8).

    projected: (B,S,A) W_a h_i + b_a; query: (B,K,A) U_a s'_j; v: (A,1); mask: (B,S), 1 at words.
    Returns (B,K,S) float32, zero at padding.
    """
    # not x[:, None], whose gradient is copied into a tensor of zeros
    hidden = tf.tanh(tf.expand_dims(projected, 1) + tf.expand_dims(query, 2))
    shape = tf.shape(hidden)
    energy = tf.reshape(tf.matmul(tf.reshape(hidden, [-1, hidden.shape[-1]]), v), shape[:3])
    energy = tf.cast(energy, tf.float32)
    weights = tf.exp(energy - tf.reduce_max(energy, axis=-1, keepdims=True)) * mask[:, None]
    return weights / tf.reduce_sum(weights, axis=-1, keepdims=True)


def mean_annotation(annotations: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mean over the words of a sentence, EOS among them: (B,S,C), (B,S) -> (B,C)."""
    total = tf.linalg.matvec(annotations, mask, transpose_a=True)
    return total / tf.reduce_sum(mask, axis=1, keepdims=True)


def activate(x: tf.Tensor, activation: Activation, slope: tf.Tensor | None = None) -> tf.Tensor:
    """The readout's non-linearity: (..., R) -> (..., E); slope (E,) is PReLU's."""
    if activation is Activation.TANH:
        return tf.tanh(x)
    if activation is Activation.LINEAR:
        return x
    if activation is Activation.MAXOUT:
        pairs = tf.reshape(x, tf.concat([tf.shape(x)[:-1], [x.shape[-1] // 2, 2]], axis=0))
        return tf.reduce_max(pairs, axis=-1)
    positive = tf.nn.relu(x)
    return positive if activation is Activation.RELU else positive + slope * (x - positive)


def mix(pi_logits: tf.Tensor, logits: list[tf.Tensor]) -> tf.Tensor:
    """Mixture of softmaxes (Yang et al. 2018): log sum_k pi_k softmax(logits_k).

    pi_logits: (..., M); logits: M tensors (..., V). The result is normalised: its own log-softmax.
    """
    log_pi = tf.nn.log_softmax(pi_logits)
    parts = [log_pi[..., k, None] + tf.nn.log_softmax(part) for k, part in enumerate(logits)]
    return tf.reduce_logsumexp(tf.stack(parts), axis=0)


def weight_norm(W: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """Columns of W divided by their norm and by the scale, as Nematus-Theano has it."""
    return W / (tf.sqrt(tf.reduce_sum(W * W, axis=0, keepdims=True) + NEMATUS_EPSILON) * scale)
