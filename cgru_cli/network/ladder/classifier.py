"""Classifier: many to one, one label for the whole sentence (cs224n: sentiment).

The annotations h_i of any encoder are pooled into one vector v; p(y | x) = softmax(v W_o + b_o).

    last       v = [hf_S ; hb_1], the last state of each reader
    mean       v = mean_i(h_i)
    max        v = max_i(h_i), element by element
    attention  e_i = v_a^T tanh(W_a h_i + b_a), alpha_i = softmax_i e_i, v = sum_i alpha_i h_i
               (Yang et al. 2016; v_a is a learned query)

Word S is EOS; it is treated like the other words.
"""

from typing import Any

import numpy as np

from ...parameters.structure import Pooling
from .. import ops
from ..attention import attend, mean_annotation
from ..encoder import Encoded, last_annotation
from ..layers import Layers
from ..ops import Tensor
from .labels import Labelled, Labeller

LOWEST = float(np.finfo(np.float32).min)


class Classifier(Labeller):
    """The pooling of `classifier`."""

    def __init__(self, layers: Layers):
        s = self.structure = layers.structure
        self.packed = layers.packed
        if s.pooling is Pooling.ATTENTION:
            self.annotation_layer = layers.annotation_layer("pooling")
            self.query = layers.energy_vector("pooling")

    def memory(self, encoded: Encoded, _search: bool) -> Labelled:
        """The pooled vector v."""
        v, alignment = self._pooled(encoded.annotations, encoded)
        one = ops.ones_like(v[:, 0], "int32")
        mask = encoded.mask if ops.is_tensor(alignment) else ()
        return Labelled(v[:, None], one, alignment, mask)

    def _pooled(self, h: Any, encoded: Encoded) -> tuple[Tensor, Tensor | tuple]:
        """h: (B,S,C) -> v (B,C), and alpha (B,S), () without attention."""
        mask, pooling = encoded.mask, self.structure.pooling
        if pooling is Pooling.LAST:
            return last_annotation(h, mask, self.structure), ()
        if pooling is Pooling.MEAN:
            return mean_annotation(h, mask), ()
        if pooling is Pooling.MAX:
            lowest = ops.full(ops.shape(h), LOWEST)
            return ops.max(ops.where(mask[..., None] > 0, h, lowest), axis=1), ()
        projected = self.annotation_layer(h)
        nothing = ops.zeros_like(projected[:, 0])
        alignment = attend(projected, nothing, self.query, mask, packed=self.packed)
        return ops.vecmat(alignment, h), alignment
