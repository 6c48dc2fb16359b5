"""The common part of models that predict labels; they have no decoder and read no previous word.

A sentence has vectors v_1..v_n; each gets a label independently, and then the sentence ends:

    p(y_t | x) = softmax(v_t W_o + b_o);  y_{n+1} = EOS

Training, search and scoring treat the labels as a text of n words. `classifier` and `tagger`
define the vectors; with a `crf`, a label depends on the previous one.
"""

import math
from typing import Any, NamedTuple

from ...parameters.structure import FIRST_LABEL
from .. import nest, ops
from ..attention import Place
from ..layers import Layers
from ..ops import Tensor
from .levels import Recurrence, States


class Labelled(NamedTuple):
    """The vectors to label, of B sentences with at most W labels each."""

    vectors: Tensor  # (B,W,C) float32: v_t; for a CRF, (B,W,L): e_t + f_t
    count: Tensor  # (B,) int32: n
    alignment: Tensor | tuple  # (B,S) float32: weights of pooled words, if n is 1
    mask: Tensor | tuple  # (B,S) float32: 1 at words and EOS; () without alignment
    log_z: Tensor | tuple = ()  # (B,) float32, of a CRF in a search
    summed: Tensor | tuple = ()  # (B,W,L) float32: the vectors of a CRF outside a search

    def at(self, position: Tensor, sentence: Tensor, before: Any = ()) -> Recurrence:
        """The readout's input at positions (R,) int32 of sentences (R,) int32.

        before: (R,L), the scores that a CRF adds for the previous label.
        """
        rows: Labelled = self._replace(summed=())
        rows = nest.mapped(lambda x: ops.take(x, sentence), rows)
        here = ops.minimum(position, ops.shape(self.vectors)[1] - 1)
        vectors = ops.take_each(rows.vectors, here)
        if ops.is_tensor(before):
            vectors += before
        if ops.is_tensor(rows.log_z):
            best = ops.max(vectors, axis=-1)
            vectors -= ops.where(position == 0, rows.log_z, best)[:, None]
        ended = ops.cast(position >= rows.count, "float32")
        return Recurrence(vectors, (), rows._aligned(ended), ended)

    def at_all(self, steps: Tensor, before: Any = ()) -> Recurrence:
        """The inputs at all positions of all sentences, time first: (T,B,..) each."""
        positions = ops.arange(steps)
        here = ops.minimum(positions, ops.shape(self.vectors)[1] - 1)
        vectors = ops.take(ops.transpose(self.vectors, [1, 0, 2]), here)
        if ops.is_tensor(before):
            vectors += before
        ended = ops.cast(positions[:, None] >= self.count, "float32")
        return Recurrence(vectors, (), self._aligned(ended), ended)

    def _aligned(self, ended: Tensor) -> Tensor | tuple:
        """The alignment (..,B,S) of labels; once `ended` (..,B), it aligns EOS to EOS."""
        if not ops.is_tensor(self.alignment):
            return ()
        last = ops.cast(ops.cumsum(self.mask, axis=1, reverse=True) == 1, "float32") * self.mask
        return self.alignment + ended[..., None] * (last - self.alignment)


class Labeller:
    """The part of `Decoder` that classifiers and taggers share."""

    def start(self, memory: Labelled) -> States:
        """The initial number of predicted labels, 0: (B,1)."""
        return ((ops.zeros_like(memory.vectors[:, 0, :1]),),)

    def cell(self, memory: Labelled, place: Place | None) -> "Labelling":
        """The cell that predicts the next label; without a place, a row is a sentence."""
        sentence = ops.arange(ops.shape(memory.count)[0]) if place is None else place.sentence
        return Labelling(memory, sentence)


class Labelling(NamedTuple):
    """A cell that returns the next vector of each row's sentence; its state counts the labels."""

    labelled: Labelled
    sentence: Tensor  # (R,) int32

    def step(self, states: States, before: Any, _fixed: tuple = ()) -> tuple[Recurrence, States]:
        """states: (R,1), the number of labels so far; before: scores of the previous label."""
        ((given,),) = states
        recurrence = self.labelled.at(ops.cast(given[:, 0], "int32"), self.sentence, before)
        return recurrence, ((given + 1,),)


class LabelReadout:
    """v_t W_o + b_o; with a CRF, the scores computed from it."""

    def __init__(self, layers: Layers):
        self.output, self.bias = layers.output(), layers.weights["decoder/output/b"]
        self.crf = layers.structure.crf

    def __call__(
        self, recurrence: Recurrence, *_unread: Any, sentence: Tensor | None = None, **_none: Any
    ) -> Tensor:
        """Logits (R,V) float32: -inf for EOS and UNK, or after the last label for all but EOS.

        sentence: (R,), the sentence of each row, for dropout; None if a row is a sentence. Other
        arguments of `Readout` are ignored: labels read no previous word and have no shortlist.
        """
        labels = self.labels(recurrence, sentence=sentence)
        edges = [[0, 0]] * (len(labels.shape) - 1) + [[FIRST_LABEL, 0]]
        logits = ops.pad(labels, edges, value=-math.inf)
        eos = ops.where(ops.arange(logits.shape[-1]) > 0, -math.inf, ops.zeros([1]))
        return ops.where(ops.expand_dims(recurrence.ended, -1) > 0, eos, logits)

    def labels(
        self, recurrence: Recurrence, *_unread: Any, sentence: Tensor | None = None
    ) -> Tensor:
        """Logits of the labels only, (R,L) float32, whether or not the sentence has ended."""
        if self.crf:
            return recurrence.top
        (logits,) = self.output.for_rows(sentence)(recurrence.top)
        return logits + self.bias

    def at_all_words(self, vectors: Tensor) -> Tensor:
        """e_t of all words of all sentences at once, (B,W,C) -> (B,W,L)."""
        (logits,) = self.output.at_positions()(vectors)
        return logits + self.bias
