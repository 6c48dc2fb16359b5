"""Tagger: aligned many to many, a tag for each word of the source (the deck; cs224n).

Every annotation is read out by itself: y_t = g(V [h_t ; h'_t] + c), of a deep encoder too,

    p(y_t | x) = softmax(h_t W_o + b_o)

where h_t is the annotation of word t, of a word that is cut into pieces that of its first piece.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers
from .labels import Labelled, Labelling
from .levels import States


class Tagger:
    """The rung `tagger`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure

    def memory(self, encoded: Encoded, _search: bool) -> Labelled:
        """h_t: the annotations of words, side by side."""
        annotations: Any = encoded.annotations
        starts: Any = encoded.starts
        order = tf.argsort(starts, axis=1, direction="DESCENDING", stable=True)
        words = tf.gather(annotations, order, batch_dims=1)
        return Labelled(words, tf.reduce_sum(starts, axis=1), (), ())

    def start(self, memory: Labelled) -> States:
        """No tag given."""
        return memory.start()

    def cell(self, memory: Labelled, place: Place | None) -> Labelling:
        """The next tag; without a place, a row is a sentence."""
        return memory.labelling(place)
