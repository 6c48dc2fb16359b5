"""Recurrent language model, without a source (Mikolov et al. 2010; cs224n).

    s_j = f(s_{j-1}, E[y_{j-1}]), s_0 = 0;  p(y_j) = g(E[y_{j-1}], s_j)

Arrays and readout are those of DL4MT's session 0. `conditioned` and `seq2seq`, which read the
source only in their first state, differ from `lm` in s_0.
"""

from typing import NamedTuple

from ...parameters.cells import base_cells
from .. import ops
from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers, Transition
from ..ops import Tensor
from .levels import Levels, Recurrence, States, alike


class Beginning(NamedTuple):
    """The memory of a decoder that reads the source only in its first state."""

    states: States  # s_0: (B,D) float32 each


class Chain(NamedTuple):
    """Cells that read only the previous word, or no word at all."""

    first: Transition
    levels: Levels

    def step(
        self, states: States, x: Tensor | tuple, _fixed: tuple = ()
    ) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W, with the terms independent of the state, or ()."""
        before, *above = states
        read = x if ops.is_tensor(x) else None
        top, new = self.levels.climb(self.first.step(before, read), above)
        return Recurrence(top, (), ()), new


class LanguageModel:
    """The decoder of `lm`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        first, *transitions = base_cells(layers.structure)
        self.chain = Chain(layers.transition(first), Levels.of(layers, transitions))

    def memory(self, encoded: Encoded, _search: bool) -> Beginning:
        """s_0 = 0 at every level."""
        zeros = ops.zeros([ops.shape(encoded.mask)[0], self.structure.state])
        return Beginning(alike(self.structure, zeros))

    def start(self, memory: Beginning) -> States:
        """s_0."""
        return memory.states

    def cell(self, _memory: Beginning, _place: Place | None) -> Chain:
        """The decoder's cells, which are the same for every batch."""
        return self.chain
