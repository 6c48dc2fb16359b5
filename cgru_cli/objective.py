"""The training objective: cross-entropy of a batch's words, label smoothing, guided attention."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from .forced import Words, unroll
from .guided_attention import Guide, attention_costs
from .network import Network


class Examples(NamedTuple):
    """A batch as the device computes it; B sentences, EOS ends and pads."""

    source: tf.Tensor  # (B,S,F) int32
    source_mask: tf.Tensor  # (B,S) float32
    target: tf.Tensor  # (B,T) int32
    target_mask: tf.Tensor  # (B,T) float32
    weights: tf.Tensor | tuple = ()  # (B,T) float32 of words' costs; () where all are 1
    shares: tf.Tensor | tuple = ()  # (B,T,S) float32 of aligned words; () without alignments


def cross_entropy(
    network: Network,
    examples: Examples,
    label_smoothing: float = 0.0,
    guide: Guide | None = None,
    *,
    packed: bool,
) -> tf.Tensor:
    """Sum of -log p(y_j | y_<j, x) over the words of a batch, in nats: ().

    Label smoothing (Szegedy et al. 2016, as Marian): (1-e) of it, and e of the mean over the
    vocabulary. guide: what the attention should be adds its own cost to each word's. Weights
    multiply both, so that a sentence of weight 0 might as well not be there; Marian's multiply the
    first alone. packed: only words are read out, no padding; compiled code, whose shapes are fixed,
    reads out everything.
    """
    source, source_mask, target, mask, weights, shares = examples
    unrolled = unroll(network, source, source_mask, target, differentiable=True)
    weights = mask if isinstance(weights, tuple) else mask * weights
    if packed:
        words = Words.of(mask)
        logits = network.read_out(*unrolled.rows(words.index, words.places), words.sentence)
        targets, of_words = words.taken(target), words.taken(weights)
    else:
        logits = network.read_out(*unrolled)
        logits = tf.reshape(logits, [-1, logits.shape[-1]])
        targets, of_words = (tf.reshape(tf.transpose(x), [-1]) for x in (target, weights))
    cost = tf.reduce_sum(word_costs(logits, targets, label_smoothing) * of_words)
    if guide is not None and guide.weight:
        of_attention = attention_costs(unrolled.alignment(), shares, guide.cost)
        cost += guide.weight * tf.reduce_sum(of_attention * weights)
    return cost


def word_costs(logits: tf.Tensor, words: tf.Tensor, label_smoothing: float = 0.0) -> tf.Tensor:
    """(1-e) * -log p_y + e * mean_v(-log p_v) of each row, in nats: (N,V), (N,) -> (N,).

    TensorFlow's own operation takes more than twice the time on CPUs, and label smoothing beside
    it goes over the logits again; here the gradient is made of the forward pass's exponentials.
    """
    rest = 1 - label_smoothing

    @tf.custom_gradient
    def costs(logits: tf.Tensor) -> tuple:
        top = tf.reduce_max(logits, axis=-1, keepdims=True)
        exponentials = tf.exp(logits - top)
        total = tf.reduce_sum(exponentials, axis=-1, keepdims=True)
        of_words = tf.gather(logits, words, batch_dims=1)[:, None]
        cost = tf.math.log(total) - rest * (of_words - top)
        if label_smoothing:
            mean = tf.reduce_mean(logits, axis=-1, keepdims=True)
            cost -= label_smoothing * (mean - top)

        def gradient(d_cost: tf.Tensor) -> tf.Tensor:
            """softmax - (1-e) * one-hot - e / V."""
            d_logits = exponentials * (d_cost[:, None] / total)
            if label_smoothing:
                d_logits -= (label_smoothing / logits.shape[-1]) * d_cost[:, None]
            places = tf.stack([tf.range(tf.size(words)), words], axis=1)
            return tf.tensor_scatter_nd_sub(d_logits, places, rest * d_cost)

        return tf.squeeze(cost, 1), gradient

    return costs(logits)
