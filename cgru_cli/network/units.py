"""The recurrent units, each with its equations; the state is (h,), or of an LSTM (h, c).

Row vectors; x W is what the input is multiplied to, h U what the state is. Several arrays of one
unit are joined, so that x W and h U are one product each; R rows, D width of the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import tensorflow as tf

from ..parameters.cells import BiasPlace
from ..parameters.structure import Normalization, Unit
from .normalization import Norm, normalize
from .products import Products

UnitState = tuple[tf.Tensor, ...]  # (R,D) each; the first is what others read


class Sums(NamedTuple):
    """What a unit adds to its products x W and h U: bias and normalisation."""

    bias_place: BiasPlace
    bias: tf.Tensor | None  # as wide as the products
    input_norms: tuple[Norm, ...] = ()  # one for all columns, or for gates and for proposal
    state_norms: tuple[Norm, ...] = ()

    def of_input(self, xW: tf.Tensor | None) -> tf.Tensor | None:
        """All that does not depend on the state; may be computed for every position at once."""
        if xW is None:
            return self.bias if self.bias_place is BiasPlace.AFTER else None
        return self._normalized(xW, self.input_norms, BiasPlace.INPUT)

    def of_state(self, hU: tf.Tensor) -> tf.Tensor:
        """The state's product, normalised, with the bias where it stands there."""
        return self._normalized(hU, self.state_norms, BiasPlace.STATE)

    def _normalized(self, x: tf.Tensor, norms: tuple[Norm, ...], here: BiasPlace) -> tf.Tensor:
        """Nematus: LN(x + b); Marian: LN(x) + b."""
        if self.bias_place is not here:
            return _normalize_parts(x, norms)
        if norms and norms[0].kind is Normalization.MARIAN:
            return _normalize_parts(x, norms) + self.bias
        return _normalize_parts(x + self.bias, norms)


def _normalize_parts(x: tf.Tensor, norms: tuple[Norm, ...]) -> tf.Tensor:
    """All columns at once, or [gates | proposal], (..., 3D), each on its own as Nematus."""
    if len(norms) < 2:
        return normalize(x, norms[0] if norms else None)
    width = x.shape[-1] // 3
    gates, proposal = x[..., : 2 * width], x[..., 2 * width :]
    return tf.concat([normalize(gates, norms[0]), normalize(proposal, norms[1])], axis=-1)


class Recurrent(Protocol):
    """A unit: its sums, and one step of its state."""

    @property
    def sums(self) -> Sums:
        """What is added to the products of its input and its state."""

    def step(self, state: UnitState, hU: tf.Tensor, x: tf.Tensor | None) -> UnitState:
        """One step; hU: the state's product; x: from `Sums.of_input`, None without an input."""


class GRU(NamedTuple):
    """Gated recurrent unit with the reset after the product (DL4MT, Nematus, Marian; cs224n).

    [r z] = sigma(x W_rz + h U_rz); p = tanh(x W + r * (h U)); h' = (1-z) * p + z * h
    (eq. 2-5 and 9-12 of the cGRU note). With the bias at the state, p = tanh(x W + r * (h U + b)),
    as the arrays of the second cell of the cGRU have it.
    """

    sums: Sums

    def step(self, state: UnitState, hU: tf.Tensor, x: tf.Tensor | None) -> UnitState:
        """hU, x: (R,3D) [gates | proposal]."""
        (h,) = state
        parts = [2 * h.shape[-1], h.shape[-1]]
        gates, proposal = tf.split(self.sums.of_state(hU), parts, axis=-1)
        if x is None:
            r, z = tf.split(tf.sigmoid(gates), 2, axis=-1)
            proposal *= r
        else:
            xW_gates, xW = tf.split(x, parts, axis=-1)
            r, z = tf.split(tf.sigmoid(gates + xW_gates), 2, axis=-1)
            proposal = r * proposal + xW
        p = tf.tanh(proposal)
        return (p + z * (h - p),)


class GRUBefore(NamedTuple):
    """Gated recurrent unit with the reset before the product (Cho et al. 2014; the deck).

    [r z] = sigma(x W_rz + h U_rz); p = tanh(x W + (r * h) U); h' = (1-z) * p + z * h
    """

    sums: Sums  # of the input, [gates | proposal]
    gates: Sums  # of h U_rz
    proposal: Sums  # of (r * h) U
    of_reset: Products

    def step(self, state: UnitState, hU: tf.Tensor, x: tf.Tensor | None) -> UnitState:
        """hU: (R,2D), the gates' alone; x: (R,3D)."""
        (h,) = state
        gates = self.gates.of_state(hU)
        if x is not None:
            xW_gates, xW = tf.split(x, [2 * h.shape[-1], h.shape[-1]], axis=-1)
            gates += xW_gates
        r, z = tf.split(tf.sigmoid(gates), 2, axis=-1)
        (rhU,) = self.of_reset(r * h)
        proposal = self.proposal.of_state(rhU)
        p = tf.tanh(proposal if x is None else proposal + xW)
        return (p + z * (h - p),)


class LSTM(NamedTuple):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000; Marian).

    [f i g o] = x W + h U + b; c' = sigma(f) * c + sigma(i) * tanh(g); h' = sigma(o) * tanh(c')
    """

    sums: Sums

    def step(self, state: UnitState, hU: tf.Tensor, x: tf.Tensor | None) -> UnitState:
        """hU, x: (R,4D)."""
        _, c = state
        y = self.sums.of_state(hU)
        f, i, g, o = tf.split(y if x is None else y + x, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c


class Plain(NamedTuple):
    """Plain recurrence (Elman 1990): h' = phi(x W + h U + b).

    phi: tanh, ReLU, or the logistic sigmoid sigma (Stanford cs224n, lecture 9).
    """

    sums: Sums
    phi: Callable[[tf.Tensor], tf.Tensor]

    def step(self, state: UnitState, hU: tf.Tensor, x: tf.Tensor | None) -> UnitState:
        """hU, x: (R,D)."""
        y = self.sums.of_state(hU)
        y = y if x is None else y + x
        return (self.phi(y),)


PHI = {Unit.TANH: tf.tanh, Unit.RELU: tf.nn.relu, Unit.SIGMOID: tf.sigmoid}


def width_of_state(unit: Unit) -> int:
    """How many tensors (R,D) a state has."""
    return 2 if unit is Unit.LSTM else 1
