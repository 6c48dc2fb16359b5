"""Attention to the annotations, and what it needs kept of the source."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from . import equations as eq
from .encoder import Encoded
from .layers import Layers
from .product import Fixed, Product
from .structure import Normalization


class Memory(NamedTuple):
    """What the encoder leaves to a decoder that attends; kept for the whole sentence."""

    annotations: tf.Tensor  # (B,S,C) compute dtype
    projected: tf.Tensor  # (B,S,A) compute dtype: W_a h_i + b_a, normalised
    mask: tf.Tensor  # (B,S) float32: 1 at words and EOS
    embeddings: tf.Tensor | tuple  # (B,S,Es) float32, for a lexical model


class Place(NamedTuple):
    """Which sentence each row of a search belongs to, and its number there."""

    sentence: tf.Tensor  # (R,) int32
    slot: tf.Tensor  # (R,) int32


class Attention(NamedTuple):
    """Attention to the annotations of a batch (eq. 6-8); a row a sentence, unless placed."""

    annotations: Product  # (B,S,C): alpha_j -> c_j
    projected: tf.Tensor  # (B,S,A): W_a h_i + b_a, normalised
    v: tf.Tensor  # (A,1)
    query_norm: eq.Norm | None
    mask: Fixed  # (B,S) float32
    place: Fixed | None = None  # of a search

    def attend(self, query: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """query: (R,A) U_a s -> alignment alpha_j (R,S), context c_j (R,C)."""
        query = tf.cast(eq.normalize(query, self.query_norm), self.projected.dtype)
        mask = self.mask.value
        if self.place is None:
            weights = eq.attend(self.projected, tf.expand_dims(query, 1), self.v, mask)
            (c,) = self.annotations(weights)
            return tf.squeeze(weights, 1), tf.squeeze(c, 1)
        place = tf.stack(self.place.value, axis=1)
        beam = tf.reduce_max(self.place.value.slot) + 1
        grid = tf.scatter_nd(place, query, [tf.shape(mask)[0], beam, query.shape[-1]])
        weights = eq.attend(self.projected, grid, self.v, mask)
        (c,) = self.annotations(weights)
        return tf.gather_nd(weights, place), tf.gather_nd(c, place)


class AttentionLayer:
    """The arrays of attention; `over` a batch it is a part of the decoder's cell."""

    def __init__(self, layers: Layers):
        path = "decoder/attention"
        weights = layers.weights
        self.dtype = layers.dtype
        self.lexical = layers.structure.lexical
        self.of_annotation = layers.product((f"{path}/Wc_att",))
        self.bias = weights[f"{path}/b_att"]
        self.v = tf.cast(weights[f"{path}/U_att"], layers.dtype)
        self.annotation_norm = weights.norm(f"{path}/Wc_att", f"{path}/gamma1")
        self.query_norm = weights.norm(f"{path}/W_comb_att", f"{path}/gamma2")
        self.start_layer = layers.affine("decoder/start")

    def memory(self, encoded: Encoded) -> Memory:
        """W_a h_i + b_a does not change from step to step."""
        read = encoded.annotations
        if self.of_annotation.masks[0] is not None:  # (B,C) for (B,S,C)
            read = read * self.of_annotation.masks[0].value[:, None]
        (projected,) = self.of_annotation._replace(masks=[None])(read)
        if self.annotation_norm and self.annotation_norm.kind is Normalization.MARIAN:
            projected = eq.normalize(projected, self.annotation_norm) + self.bias
        else:
            projected = eq.normalize(projected + self.bias, self.annotation_norm)
        return Memory(
            tf.cast(encoded.annotations, self.dtype),
            tf.cast(projected, self.dtype),
            encoded.mask,
            encoded.embeddings if self.lexical else (),
        )

    def start(self, memory: Memory) -> tf.Tensor:
        """s_0 = tanh(mean_i(h_i) W_init + b): (B,D)."""
        mean = eq.mean_annotation(tf.cast(memory.annotations, tf.float32), memory.mask)
        return tf.tanh(self.start_layer(mean))

    def over(self, memory: Memory, place: Place | None) -> Attention:
        """Attention to this batch."""
        return Attention(
            Product(memory.annotations),
            memory.projected,
            self.v,
            self.query_norm,
            Fixed(memory.mask),
            place and Fixed(place),
        )
