"""Tagger: aligned many to many, a tag for each word of the source (cs224n).

Each tag is predicted independently, y_t = g(V [h_t ; h'_t] + c):

    p(y_t | x) = softmax(h_t W_o + b_o)

where h_t is the annotation of word t, or of its first piece if the word is split.
With `--crf`, a tag depends on its neighbours; see `crf`.
"""

from typing import Any

from .. import ops
from ..encoder import Encoded
from ..layers import Layers
from .crf import Chain
from .labels import Labelled, Labeller, LabelReadout


class Tagger(Labeller):
    """The annotations of `tagger`."""

    def __init__(self, layers: Layers):
        self.chain: Chain | None = None
        if layers.structure.crf:
            self.chain, self.logits = Chain(layers), LabelReadout(layers).at_all_words

    def memory(self, encoded: Encoded, search: bool) -> Labelled:
        """The annotations h_t of the words of each sentence; with a CRF, the CRF's scores."""
        annotations: Any = encoded.annotations
        starts: Any = encoded.starts
        order = ops.argsort_descending(starts)
        words = ops.take_each(annotations, order)
        count = ops.sum(starts, axis=1)
        if self.chain is None:
            return Labelled(words, count, (), ())
        return self.chain.labelled(self.logits(words), count, search)
