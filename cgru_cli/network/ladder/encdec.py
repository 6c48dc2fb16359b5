"""Encoder-decoder: one summary of the source, seen at every step (Cho et al. 2014; cs224n).

    C = the encoder's last state;  s_0 = tanh(C W_init + b)
    s_j = f(s_{j-1}, E[y_{j-1}], C);  p(y_j) = g(E[y_{j-1}], s_j, C)

Without the word before (`Structure.feedback`):

    s_j = f(s_{j-1}, C);  p(y_j) = g(s_j, C)

With DL4MT's session 1 it has the names. C is the annotation that a reader ends at: of the last
word (EOS) forward, of the first backward.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ...parameters.cell_names import context_arrays
from ...parameters.cells import base_cells
from ..attention import Place
from ..encoder import Encoded, last_annotation
from ..layers import Layers, Transition, transit
from .levels import Levels, Recurrence, States, alike


class Summary(NamedTuple):
    """What the encoder leaves to the decoder."""

    context: tf.Tensor  # (B,C) float32
    of_cell: tf.Tensor  # (B,3D), or as wide as the unit's products: C Wc, normalised
    readout: tf.Tensor  # (B,R) C C_o


class Summarized(NamedTuple):
    """The cell that reads word and summary, then the levels above."""

    first: Transition
    summary: Summary  # (R,..): of each row's sentence
    transitions: list[Transition]
    levels: Levels

    def step(
        self, states: States, x: tf.Tensor | tuple, _fixed: tuple = ()
    ) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W and all that does not depend on the state, or ()."""
        before, *above = states
        of_cell = self.summary.of_cell
        s = self.first.step(before, x + of_cell if tf.is_tensor(x) else tf.identity(of_cell))
        s = transit(self.transitions, s, None)
        top, new = self.levels.climb(s, above, self.summary.context)
        return Recurrence(top, tf.identity(self.summary.readout), ()), new


class EncoderDecoder:
    """The rung `encdec`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        first, *transitions = base_cells(layers.structure)
        self.first = layers.transition(first)
        self.of_context = layers.product(  # once a sentence
            context_arrays(first), ("decoder/readout/ctx/W",), quantized=False
        )
        self.context = layers.context_sums(first)
        self.start_layer = layers.affine("decoder/start", quantized=False)
        self.transitions = [layers.transition(cell) for cell in transitions]
        self.levels = Levels.of(layers)

    def memory(self, encoded: Encoded, _search: bool) -> Summary:
        """C, and what it is multiplied to, with the cell's bias where no word before brings it."""
        context = last_annotation(encoded.annotations, encoded.mask, self.structure)
        cW, readout = self.of_context(context)
        of_cell, bias = self.context.of_input(cW), self.first.unit.sums.of_input(None)
        return Summary(context, of_cell if bias is None else of_cell + bias, readout)

    def start(self, memory: Summary) -> States:
        """s_0, the same at every level."""
        return alike(self.structure, tf.tanh(self.start_layer(memory.context)))

    def cell(self, memory: Summary, place: Place | None) -> Summarized:
        """The decoder's cell over a batch; without a place, a row is a sentence."""
        if place is not None:
            memory = Summary(*(tf.gather(field, place.sentence) for field in memory))
        return Summarized(self.first, memory, self.transitions, self.levels)
