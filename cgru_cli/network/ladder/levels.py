"""The common parts of the decoders: their levels, and the result of a step.

The cell of each decoder is a nested tuple of products, biases and constants, with a method `step`.
A search calls `step` with one row per hypothesis; `scan` runs it over time and computes gradients.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from ...parameters.cells import CellPlace, high_cells
from ...parameters.structure import Structure
from .. import ops
from ..layers import Layers, Transition, transit
from ..ops import Tensor
from ..products import Products
from ..units import UnitState, nudged, tensors_of_state

States = tuple[UnitState, ...]  # by level of the decoder


class Recurrence(NamedTuple):
    """The input of the readout; () for parts that the model type lacks."""

    top: Tensor  # (R,D) output of the highest level
    context: Tensor | tuple  # (R,R') c_j C_o
    alignment: Tensor | tuple  # (R,S) alpha_j
    ended: Tensor | tuple = ()  # (R,) float32: 1 where no label is left and EOS follows


class Levels(NamedTuple):
    """The transition cells at the end of the decoder's first level, and the levels above."""

    transitions: list[Transition]
    levels: list[tuple[Products, list[Transition]]]
    deep_context: bool
    residual: bool
    nudges: States = ()  # by level, including the first: see `units.nudged`

    @classmethod
    def of(cls, layers: Layers, transitions: Sequence[CellPlace]) -> Self:
        """The higher levels, and the first level's transition cells; empty in a shallow model."""
        s = layers.structure
        levels = [layers.reader(high_cells(s, level)) for level in s.high_levels()]
        cells = [layers.transition(cell) for cell in transitions]
        return cls(cells, levels, s.deep_context, s.residual)

    def climb(
        self, first: UnitState, above: Sequence[UnitState], context: Tensor | None = None
    ) -> tuple[Tensor, States]:
        """Run the transitions and the levels above; returns the output (R,D) and all new states.

        first: the state of the cell before the transitions; above: old states of the levels above.
        """
        nudges = self.nudges or ((),) * (1 + len(self.levels))
        new = [nudged(transit(self.transitions, first, None), nudges[0])]
        top = new[0][0]
        for (product, cells), state, nudge in zip(self.levels, above, nudges[1:], strict=True):
            (xW,) = product(ops.concat([top, context], axis=-1) if self.deep_context else top)
            state = nudged(transit(cells, state, cells[0].unit.sums.from_input(xW)), nudge)
            new.append(state)
            top = top + state[0] if self.residual else state[0]
        return top, tuple(new)


def alike(structure: Structure, h: Tensor) -> States:
    """The same state for every level; an LSTM's memory begins like its output, as in Marian."""
    return ((h,) * tensors_of_state(structure.decoder_unit),) * structure.decoder_depth
