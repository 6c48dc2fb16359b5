"""Layer normalisation of Nematus and of Marian, and the RMS norm of Nematus-TF."""

from typing import NamedTuple

import tensorflow as tf

from ..parameters.structure import Normalization

NEMATUS_EPSILON = 1e-5  # Nematus, layer and RMS norm
MARIAN_EPSILON = 1e-9


class Norm(NamedTuple):
    """Gains and biases of one normalisation; bias is None for kinds without one."""

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
