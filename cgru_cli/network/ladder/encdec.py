"""Encoder-decoder: every step reads one summary of the source (Cho et al. 2014; cs224n).

    C = the encoder's last state;  s_0 = tanh(C W_init + b)
    s_j = f(s_{j-1}, E[y_{j-1}], C);  p(y_j) = g(E[y_{j-1}], s_j, C)

Without the previous word (`Structure.feedback`):

    s_j = f(s_{j-1}, C);  p(y_j) = g(s_j, C)

The arrays have the names of DL4MT's session 1. C concatenates the last annotation of each
direction: at the last word (EOS) for forward, at the first word for backward.
"""

from typing import NamedTuple

from ...parameters.cell_names import context_arrays
from ...parameters.cells import base_cells
from .. import ops
from ..attention import Place
from ..encoder import Encoded, last_annotation
from ..layers import Layers, Transition
from ..ops import Tensor
from .levels import Levels, Recurrence, States, alike


class Summary(NamedTuple):
    """The memory: the single context of a sentence, and its products."""

    context: Tensor  # (B,C) float32
    cW: Tensor  # (B,3D), or the width of the unit's products: C Wc, normalised
    readout: Tensor  # (B,R) C C_o


class Summarized(NamedTuple):
    """A cell that reads the previous word and the summary, then transitions and levels above."""

    first: Transition
    summary: Summary  # (R,..): for the sentence of each row
    levels: Levels

    def step(
        self, states: States, x: Tensor | tuple, _fixed: tuple = ()
    ) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W, with the terms independent of the state, or ()."""
        before, *above = states
        cW = self.summary.cW
        s = self.first.step(before, x + cW if ops.is_tensor(x) else ops.identity(cW))
        top, new = self.levels.climb(s, above, self.summary.context)
        return Recurrence(top, ops.identity(self.summary.readout), ()), new


class EncoderDecoder:
    """The decoder of `encdec`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        first, *transitions = base_cells(layers.structure)
        self.first = layers.transition(first)
        arrays = (context_arrays(first), ("decoder/readout/ctx/W",))
        self.context_product = layers.product(*arrays)
        self.context_sums = layers.context_sums(first)
        self.start_layer = layers.affine("decoder/start")
        self.levels = Levels.of(layers, transitions)

    def memory(self, encoded: Encoded, _search: bool) -> Summary:
        """C and its products, including the cell's bias unless the previous word adds it."""
        context = last_annotation(encoded.annotations, encoded.mask, self.structure)
        cW, readout = self.context_product(context)
        cW, bias = self.context_sums.from_input(cW), self.first.unit.sums.from_input(None)
        return Summary(context, cW if bias is None else cW + bias, readout)

    def start(self, memory: Summary) -> States:
        """s_0, the same at every level."""
        return alike(self.structure, ops.tanh(self.start_layer(memory.context)))

    def cell(self, memory: Summary, place: Place | None) -> Summarized:
        if place is not None:
            memory = Summary(*(ops.take(field, place.sentence) for field in memory))
        return Summarized(self.first, memory, self.levels)
