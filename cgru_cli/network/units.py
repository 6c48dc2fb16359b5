"""The recurrent units, each with its equations; the state is (h,), or for LSTM and SRU (h, c).

Vectors are rows; x W is the product of the input, and h U the product of the state. The arrays of a
unit are joined to compute x W and h U as one product each. R: rows; D: width of the state.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..parameters.cells import BiasPlace
from ..parameters.structure import WITHOUT_STATE_PRODUCT, Normalization, Unit
from . import ops
from .normalization import Norm, normalize
from .ops import Tensor
from .products import Products

UnitState = tuple[Tensor, ...]  # (R,D) each; other layers read only the first


class Sums(NamedTuple):
    """The bias and the normalisation of a unit's products x W and h U."""

    bias_place: BiasPlace
    bias: Tensor | None  # of the width of the products
    input_norms: tuple[Norm, ...] = ()  # one for all columns, or for gates and for proposal
    state_norms: tuple[Norm, ...] = ()

    def from_input(self, xW: Tensor | None) -> Tensor | None:
        """The terms that do not depend on the state, computed for all positions at once."""
        if xW is None:
            return self.bias if self.bias_place is BiasPlace.AFTER else None
        return self._normalized(xW, self.input_norms, BiasPlace.INPUT)

    def from_state(self, hU: Tensor) -> Tensor:
        """The normalised product of the state, plus the bias if the state has it."""
        return self._normalized(hU, self.state_norms, BiasPlace.STATE)

    def _normalized(self, x: Tensor, norms: tuple[Norm, ...], here: BiasPlace) -> Tensor:
        """Nematus: LN(x + b); Marian: LN(x) + b."""
        if self.bias_place is not here:
            return _normalize_parts(x, norms)
        if norms and norms[0].kind is Normalization.MARIAN:
            return _normalize_parts(x, norms) + self.bias
        return _normalize_parts(x + self.bias, norms)


def _normalize_parts(x: Tensor, norms: tuple[Norm, ...]) -> Tensor:
    """Normalise all columns at once or, as in Nematus, the columns of each matrix separately.

    The last columns of an SRU, its input, are not normalised.
    """
    if len(norms) < 2:
        return normalize(x, norms[0] if norms else None)
    widths = [norm.gain.shape[-1] for norm in norms]
    rest = x.shape[-1] - sum(widths)
    parts = ops.split(x, [*widths, rest] if rest else widths, axis=-1)
    normalized = [normalize(part, norm) for part, norm in zip(parts, norms, strict=False)]
    return ops.concat([*normalized, *parts[len(norms) :]], axis=-1)


class GRU(NamedTuple):
    """Gated recurrent unit with the reset after the product (DL4MT, Nematus, Marian; cs224n).

    [r z] = sigma(x W_rz + h U_rz); p = tanh(x W + r * (h U)); h' = (1-z) * p + z * h
    (eq. 2-5 and 9-12 of the cGRU note). If the bias belongs to the state, as in the second cell of
    the cGRU, p = tanh(x W + r * (h U + b)).
    """

    sums: Sums

    def step(self, state: UnitState, hU: Tensor, x: Tensor | None) -> UnitState:
        """One step; hU: the state's product; x: from `Sums.from_input`, None without an input.

        hU, x: (R,3D) [gates | proposal].
        """
        (h,) = state
        r, z, proposal = ops.split(self.sums.from_state(hU), 3, axis=-1)
        if x is None:
            p = ops.tanh(ops.sigmoid(r) * proposal)
        else:
            xW_r, xW_z, xW = ops.split(x, 3, axis=-1)
            r, z = r + xW_r, z + xW_z
            p = ops.tanh(ops.sigmoid(r) * proposal + xW)
        return (p + ops.sigmoid(z) * (h - p),)


class GRUBefore(NamedTuple):
    """Gated recurrent unit with the reset before the product (Cho et al. 2014).

    [r z] = sigma(x W_rz + h U_rz); p = tanh(x W + (r * h) U); h' = (1-z) * p + z * h
    """

    sums: Sums  # of the input, [gates | proposal]
    gates: Sums  # of h U_rz
    proposal: Sums  # of (r * h) U
    reset_product: Products

    def step(self, state: UnitState, hU: Tensor, x: Tensor | None) -> UnitState:
        """hU: (R,2D), of the gates only; x: (R,3D)."""
        (h,) = state
        gates = self.gates.from_state(hU)
        if x is not None:
            xW_gates, xW = ops.split(x, [2 * h.shape[-1], h.shape[-1]], axis=-1)
            gates += xW_gates
        r, z = ops.split(ops.sigmoid(gates), 2, axis=-1)
        (rhU,) = self.reset_product(r * h)
        proposal = self.proposal.from_state(rhU)
        p = ops.tanh(proposal if x is None else proposal + xW)
        return (p + z * (h - p),)


class LSTM(NamedTuple):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000; Marian).

    [f i g o] = x W + h U + b; c' = sigma(f) * c + sigma(i) * tanh(g); h' = sigma(o) * tanh(c')
    """

    sums: Sums

    def step(self, state: UnitState, hU: Tensor, x: Tensor | None) -> UnitState:
        """hU, x: (R,4D)."""
        _, c = state
        y = self.sums.from_state(hU)
        f, i, g, o = ops.split(y if x is None else y + x, 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c


class SRU(NamedTuple):
    """Simple recurrent unit (Lei et al. 2018; Marian), without a product of the state.

    f = sigma(x W_f + b_f); r = sigma(x W_r + b_r); c' = f * c + (1-f) * x W
    h' = r * tanh(c') + (1-r) * x
    """

    sums: Sums

    def step(self, state: UnitState, _hU: Tensor, x: Tensor) -> UnitState:
        """_hU: (R,0); x: (R,4D) [x W | x W_f + b_f | x W_r + b_r | x]."""
        xW, f, r, x = ops.split(x, 4, axis=-1)
        c = xW + ops.sigmoid(f) * (state[1] - xW)
        return x + ops.sigmoid(r) * (ops.tanh(c) - x), c


class SSRU(NamedTuple):
    """Simpler simple recurrent unit (Kim et al. 2019; Marian), without a product of the state.

    f = sigma(x W_f + b_f); c' = f * c + (1-f) * x W; h' = max(0, c')
    """

    sums: Sums

    def step(self, state: UnitState, _hU: Tensor, x: Tensor) -> UnitState:
        """_hU: (R,0); x: (R,2D) [x W | x W_f + b_f]."""
        xW, f = ops.split(x, 2, axis=-1)
        c = xW + ops.sigmoid(f) * (state[1] - xW)
        return ops.relu(c), c


class Plain(NamedTuple):
    """Plain recurrence (Elman 1990): h' = phi(x W + h U + b).

    phi: tanh, ReLU, or the logistic sigmoid sigma (Stanford cs224n, lecture 9).
    """

    sums: Sums
    phi: Callable[[Tensor], Tensor]

    def step(self, state: UnitState, hU: Tensor, x: Tensor | None) -> UnitState:
        """hU, x: (R,D)."""
        y = self.sums.from_state(hU)
        return (self.phi(y if x is None else y + x),)


Recurrent = GRU | GRUBefore | LSTM | SRU | SSRU | Plain

PHI = {Unit.TANH: ops.tanh, Unit.RELU: ops.relu, Unit.SIGMOID: ops.sigmoid}


def nudged(state: UnitState, nudge: UnitState) -> UnitState:
    """The state plus a nudge of `optimization.gradient_norms`, () for no nudge."""
    return tuple(a + n for a, n in zip(state, nudge, strict=True)) if nudge else state


def tensors_of_state(unit: Unit) -> int:
    """The number of tensors (R,D) of a state."""
    return 2 if unit in (Unit.LSTM, *WITHOUT_STATE_PRODUCT) else 1
