"""RNNsearch: attention from the previous state, one cell (Bahdanau, Cho, Bengio 2015).

    e_ij = v_a^T tanh(U_a s_{j-1} + W_a h_i), alpha_ij = softmax_i e_ij, c_j = sum_i alpha_ij h_i
    s_j = f(s_{j-1}, E[y_{j-1}], c_j);  p(y_j) = g(E[y_{j-1}], s_j, c_j)

Their g is a maxout layer (`Activation.MAXOUT`) and their f a GRU with the reset before the product
(`Unit.GRU_BEFORE`). Their s_0 = tanh(h_bwd_1 W_init + b) reads the backward reader's state at the
first word (`DecoderStart.LAST_BACKWARD`), where the cGRU reads the mean annotation.
"""

from typing import NamedTuple

from ...parameters.cell_names import context_arrays, state_arrays
from ...parameters.cells import base_cells
from ..attention import Attention, AttentionLayer, Memory, Place
from ..encoder import Encoded
from ..layers import Layers
from ..ops import ScanCell, Tensor
from ..products import Products
from ..units import Recurrent, Sums
from .levels import Levels, Recurrence, States, alike


class Searching(NamedTuple):
    """Attention, a cell that reads word and context, then transitions and the levels above."""

    state_product: Products  # s_{j-1} [U_a | U]
    attention: Attention
    context_sums: Sums
    unit: Recurrent
    levels: Levels

    def step(self, states: States, x: Tensor, _fixed: tuple = ()) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W with the terms that do not depend on the state."""
        before, *above = states
        query, sU = self.state_product(before[0])
        alignment, c = self.attention.attend(query)
        s = self.unit.step(before, sU, x + self.context_sums.from_input(c.cW))
        top, new = self.levels.climb(s, above, c.itself)
        return Recurrence(top, c.readout, alignment), new


class RNNSearch:
    """The decoder of `rnnsearch`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        first, *transitions = base_cells(layers.structure)
        self.attention = AttentionLayer(layers, context_arrays(first))
        self.state_product = layers.product(
            ("decoder/attention/W_comb_att",), state_arrays(first), bounded=layers.bounded_states
        )
        self.context_sums, self.unit = layers.context_sums(first), layers.unit(first)
        self.levels = Levels.of(layers, transitions)

    def memory(self, encoded: Encoded, search: bool) -> Memory:
        """The memory of the source for attention."""
        return self.attention.memory(encoded, search)

    def start(self, memory: Memory) -> States:
        """s_0, the same at every level."""
        return alike(self.structure, memory.start)

    def cell(self, memory: Memory, place: Place | None) -> ScanCell:
        return Searching(
            self.state_product,
            self.attention.over(memory, place),
            self.context_sums,
            self.unit,
            self.levels,
        )
