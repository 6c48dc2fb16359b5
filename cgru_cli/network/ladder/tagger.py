"""Tagger: aligned many to many, a tag for each word of the source (the deck; cs224n).

Every annotation is read out by itself: y_t = g(V [h_t ; h'_t] + c), of a deep encoder too,

    p(y_t | x) = softmax(h_t W_o + b_o)

where h_t is the annotation of word t, of a word that is cut into pieces that of its first piece.
With `--crf` a tag depends on those beside it, see `crf`.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers
from .crf import Chain
from .labels import Labelled, Labelling, LabelReadout
from .levels import States


class Tagger:
    """The rung `tagger`."""

    def __init__(self, layers: Layers):
        self.chain: Chain | None = None
        if layers.structure.crf:
            self.chain, self.logits = Chain(layers), LabelReadout(layers).of_words

    def memory(self, encoded: Encoded, search: bool) -> Labelled:
        """h_t: the annotations of words, side by side."""
        annotations: Any = encoded.annotations
        starts: Any = encoded.starts
        order = tf.argsort(starts, axis=1, direction="DESCENDING", stable=True)
        words = tf.gather(annotations, order, batch_dims=1)
        count = tf.reduce_sum(starts, axis=1)
        if self.chain is None:
            return Labelled(words, count, (), ())
        return self.chain.labelled(self.logits(words), count, search)

    def start(self, memory: Labelled) -> States:
        """No tag given."""
        return memory.start()

    def cell(self, memory: Labelled, place: Place | None) -> Labelling:
        """The next tag; without a place, a row is a sentence."""
        return memory.labelling(place)
