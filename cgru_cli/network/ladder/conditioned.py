"""Conditioned language model: one to many, a text from one input (the deck: image captioning).

    s_0 = tanh(v W_init + b);  s_j = f(s_{j-1}, E[y_{j-1}]);  p(y_j) = g(E[y_{j-1}], s_j)

v is a vector of numbers, such as features of a picture, or of a label the unit vector that has its
1 at the label's place. As the deck draws it, and Vinyals et al. 2015 have it, the input is read
once, before the first word.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ...parameters.structure import FIRST_LABEL, Condition, Structure
from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers
from .levels import States, alike
from .lm import Chain


class Beginning(NamedTuple):
    """What a condition leaves to the decoder."""

    state: tf.Tensor  # (B,D) float32: s_0


class ConditionedLanguageModel:
    """The rung `lm`, with a condition."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        self.chain = Chain.of(layers)
        self.start_layer = layers.affine("decoder/start", quantized=False)

    def memory(self, encoded: Encoded, _search: bool) -> Beginning:
        """s_0, of the conditions."""
        v = vectors(encoded.condition, self.structure)
        return Beginning(tf.tanh(self.start_layer(v)))

    def start(self, memory: Beginning) -> States:
        """s_0, the same at every level."""
        return alike(self.structure, memory.state)

    def cell(self, _memory: Beginning, _place: Place | None) -> Chain:
        """The same for every batch."""
        return self.chain


def vectors(condition: tf.Tensor, structure: Structure) -> tf.Tensor:
    """v (B,N) float32 of conditions as batches hold them: (B,S,1) labels' ids, or (B,S,N) bits."""
    first = condition[:, 0]
    if structure.condition is Condition.LABEL:
        place = first[:, 0] - FIRST_LABEL
        return tf.one_hot(place, structure.condition_size, dtype=tf.float32)
    return tf.cast(tf.bitcast(first, "float32"), tf.float32)
