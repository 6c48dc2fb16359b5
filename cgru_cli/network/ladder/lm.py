"""Recurrent language model: there is no source (Mikolov et al. 2010; the deck; cs224n).

    s_j = f(s_{j-1}, E[y_{j-1}]), s_0 = 0;  p(y_j) = g(E[y_{j-1}], s_j)

With DL4MT's session 0 it has the names, and the readout. `Chain` is the decoder of `seq2seq` too.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ...parameters.cells import base_cells
from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers, Transition, transit
from .levels import Levels, Recurrence, States, alike


class Nothing(NamedTuple):
    """What a model without a source keeps of it: how many sentences there are."""

    none: tf.Tensor  # (B,0) float32


class Chain(NamedTuple):
    """Cells that read the word before, or nothing, and no source."""

    cells: list[Transition]
    levels: Levels

    @classmethod
    def of(cls, layers: Layers) -> Chain:
        """The decoder of a structure without contexts."""
        cells = [layers.transition(cell) for cell in base_cells(layers.structure)]
        return cls(cells, Levels.of(layers))

    def step(
        self, states: States, x: tf.Tensor | tuple, _fixed: tuple = ()
    ) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W and all that does not depend on the state, or ()."""
        before, *above = states
        read = x if tf.is_tensor(x) else None
        top, new = self.levels.climb(transit(self.cells, before, read), above)
        return Recurrence(top, (), ()), new


class LanguageModel:
    """The rung `lm`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        self.chain = Chain.of(layers)

    def memory(self, encoded: Encoded, _search: bool) -> Nothing:
        """Nothing of the source."""
        return Nothing(encoded.mask[:, :0])

    def start(self, memory: Nothing) -> States:
        """Zeros."""
        return alike(self.structure, tf.zeros([tf.shape(memory.none)[0], self.structure.state]))

    def cell(self, _memory: Nothing, _place: Place | None) -> Chain:
        """The same for every batch."""
        return self.chain
