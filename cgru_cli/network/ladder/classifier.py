"""Classifier: many to one, a label for the whole sentence (the deck; cs224n: sentiment).

The annotations h_i of any encoder are pooled into one vector, and p(y | x) = softmax(v W_o + b_o):

    last       v = [hf_S ; hb_1], the states that the readers end at
    mean       v = mean_i(h_i)
    max        v = max_i(h_i), of each column
    attention  e_i = v_a^T tanh(W_a h_i + b_a), alpha_i = softmax_i e_i, v = sum_i alpha_i h_i
               (Yang et al. 2016, whose learned query is v_a)

The last word of the S is EOS, and counts.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ...parameters.structure import Pooling
from ..attention import Place, attend, mean_annotation
from ..encoder import Encoded, last_annotation
from ..layers import Affine, Layers
from .labels import Labelled, Labelling
from .levels import States


class Classifier:
    """The rung `classifier`."""

    def __init__(self, layers: Layers):
        s = self.structure = layers.structure
        self.hidden: Affine
        if s.pooling is Pooling.ATTENTION:
            weights, path = layers.weights, "pooling"
            self.hidden = Affine(
                layers.product((f"{path}/Wc_att",)).at_positions(),
                weights[f"{path}/b_att"],
                weights.norm(f"{path}/Wc_att", f"{path}/gamma1"),
            )
            self.query = weights[f"{path}/U_att"]

    def memory(self, encoded: Encoded, _search: bool) -> Labelled:
        """v."""
        v, alignment = self._pooled(encoded.annotations, encoded)
        one = tf.ones_like(v[:, 0], tf.int32)
        mask = encoded.mask if tf.is_tensor(alignment) else ()
        return Labelled(v[:, None], one, alignment, mask)

    def _pooled(self, h: Any, encoded: Encoded) -> tuple[tf.Tensor, tf.Tensor | tuple]:
        """h: (B,S,C) -> v (B,C), and alpha (B,S), () without attention."""
        mask, pooling = encoded.mask, self.structure.pooling
        if pooling is Pooling.LAST:
            return last_annotation(h, mask, self.structure), ()
        if pooling is Pooling.MEAN:
            return mean_annotation(h, mask), ()
        if pooling is Pooling.MAX:
            lowest = tf.fill(tf.shape(h), h.dtype.min)
            return tf.reduce_max(tf.where(mask[..., None] > 0, h, lowest), axis=1), ()
        projected = self.hidden(h)
        alignment = attend(projected, tf.zeros_like(projected[:, 0]), self.query, mask)
        return tf.linalg.matvec(h, alignment, transpose_a=True), alignment

    def start(self, memory: Labelled) -> States:
        """No label given."""
        return memory.start()

    def cell(self, memory: Labelled, place: Place | None) -> Labelling:
        """The next label; without a place, a row is a sentence."""
        return memory.labelling(place)
