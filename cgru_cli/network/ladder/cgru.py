"""The conditional GRU: attention between two cells (DL4MT note, Firat and Cho 2016; Nematus).

    s'_j = REC1(s_{j-1}, E[y_{j-1}])                                  (eq. 2-5)
    c_j = sum_i alpha_ij h_i, alpha_ij = softmax_i v_a^T tanh(U_a s'_j + W_a h_i)    (eq. 6-8)
    s_j = REC2(s'_j, c_j)                                             (eq. 9-12)
    s_0 = tanh(mean_i(h_i) W_init + b)

The cells may be any unit; an LSTM's memory passes through both. Without REC2 (Marian's
`--dec-cell-base-depth 1`), s_j = s'_j, and only the readout reads c_j.
"""

from typing import NamedTuple

from ...parameters.cell_names import input_arrays, state_arrays
from ...parameters.cells import base_cells
from ..attention import Attention, AttentionLayer, Memory, Place
from ..layers import Layers, Transition
from ..ops import ScanCell, Tensor
from ..products import Products
from ..units import Recurrent
from .levels import Levels, Recurrence, States
from .rnnsearch import RNNSearch


class Conditional(NamedTuple):
    """The cell: REC1, ATT, REC2, then transitions and the levels above."""

    first: Transition
    intermediate_product: Products  # s'_j [U_a | U]
    attention: Attention
    second: Recurrent | None  # None in some models of Marian
    levels: Levels

    def step(self, states: States, x: Tensor, _fixed: tuple = ()) -> tuple[Recurrence, States]:
        """states: (R,D) each; x: E[y_{j-1}] W with the terms that do not depend on the state."""
        before, *above = states
        s1 = self.first.step(before, x)
        query, s1U = self.intermediate_product(s1[0])
        alignment, c = self.attention.attend(query)
        s = s1
        if self.second is not None:
            s = self.second.step(s1, s1U, self.second.sums.from_input(c.cW))
        top, new = self.levels.climb(s, above, c.itself)
        return Recurrence(top, c.readout, alignment), new


class ConditionalGRU(RNNSearch):
    """The decoder of `cgru`; its memory and s_0 are those of `rnnsearch`."""

    def __init__(self, layers: Layers):
        self.structure = layers.structure
        first, *others = base_cells(layers.structure)
        second, transitions = others[:1], others[1:]
        self.first = layers.transition(first)
        self.second = layers.unit(second[0]) if second else None
        self.attention = AttentionLayer(layers, input_arrays(second[0]) if second else ())
        arrays = state_arrays(second[0]) if second else ()
        self.intermediate_product = layers.product(
            ("decoder/attention/W_comb_att",), arrays, bounded=layers.bounded_states
        )
        self.levels = Levels.of(layers, transitions)

    def cell(self, memory: Memory, place: Place | None) -> ScanCell:
        return Conditional(
            self.first,
            self.intermediate_product,
            self.attention.over(memory, place),
            self.second,
            self.levels,
        )
