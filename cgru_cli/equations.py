"""The equations of the conditional GRU, in the letters of the DL4MT note (eq. 1-12).

Row vectors, as the arrays are stored; gates are [r | z] side by side, followed by the proposal p.
Every function takes tensors and returns tensors; nothing here knows a parameter's name.
Letters: B sentences, R rows (hypotheses; R = B in training), S source length, D state, C context.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from .structure import Activation, BiasPlace, Normalization

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


def normalize_gates(x: tf.Tensor, norms: tuple[Norm, ...]) -> tf.Tensor:
    """Normalise [gates | proposal], (..., 3D): Nematus each product, Marian all 3D at once."""
    if len(norms) < 2:
        return normalize(x, norms[0] if norms else None)
    width = x.shape[-1] // 3
    gates, proposal = x[..., : 2 * width], x[..., 2 * width :]
    return tf.concat([normalize(gates, norms[0]), normalize(proposal, norms[1])], axis=-1)


class GRU(NamedTuple):
    """What one cell adds to its two products x [W|Wx] and h [U|Ux]."""

    bias_place: BiasPlace
    bias: tf.Tensor | None  # (3D,)
    input_norms: tuple[Norm, ...] = ()
    state_norms: tuple[Norm, ...] = ()

    def of_input(self, xW: tf.Tensor | None) -> tf.Tensor | None:
        """All that does not depend on the state; may be computed for every position at once."""
        if xW is None:
            return self.bias if self.bias_place is BiasPlace.AFTER else None
        if self.bias_place is not BiasPlace.INPUT:
            return normalize_gates(xW, self.input_norms)
        if self._bias_follows_norm:
            return normalize_gates(xW, self.input_norms) + self.bias
        return normalize_gates(xW + self.bias, self.input_norms)

    def step(self, h: tf.Tensor, hU: tf.Tensor, x: tf.Tensor | None) -> tf.Tensor:
        """One step: h (R,D), hU (R,3D), x from `of_input` -> new h (R,D).

        [r z] = sigma(x W_rz + h U_rz); p = tanh(x W + r * (h U)); h' = (1-z) * p + z * h
        (eq. 2-5 and 9-12). With the bias at the state, p = tanh(x W + r * (h U + b)), as the
        arrays of the second cell have it.
        """
        if self.bias_place is BiasPlace.STATE:
            if self._bias_follows_norm:
                hU = normalize_gates(hU, self.state_norms) + self.bias
            else:
                hU = normalize_gates(hU + self.bias, self.state_norms)
        else:
            hU = normalize_gates(hU, self.state_norms)
        parts = [2 * h.shape[-1], h.shape[-1]]
        gates, proposal = tf.split(hU, parts, axis=-1)
        if x is None:
            r, z = tf.split(tf.sigmoid(gates), 2, axis=-1)
            proposal *= r
        else:
            xW_gates, xW = tf.split(x, parts, axis=-1)
            r, z = tf.split(tf.sigmoid(gates + xW_gates), 2, axis=-1)
            proposal = r * proposal + xW
        p = tf.tanh(proposal)
        return p + z * (h - p)

    @property
    def _bias_follows_norm(self) -> bool:
        norms = self.input_norms or self.state_norms
        return bool(norms) and norms[0].kind is Normalization.MARIAN


def attend(projected: tf.Tensor, query: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Alignment alpha_ij = softmax_i v_a^T tanh(W_a h_i + U_a s'_j) (eq. 7, 8).

    projected: (B,S,A) W_a h_i + b_a; query: (B,K,A) U_a s'_j; v: (A,1); mask: (B,S), 1 at words.
    Returns (B,K,S) float32, zero at padding.
    """
    hidden = tf.tanh(projected[:, None] + query[:, :, None])
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
    """The readout's non-linearity; slope (E,) is PReLU's."""
    if activation is Activation.TANH:
        return tf.tanh(x)
    if activation is Activation.LINEAR:
        return x
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
