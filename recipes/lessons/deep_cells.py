"""The cells of deep models in NumPy: units with and without an input, norms, weight norm.

It continues `equations.py`; `deep_equations.py` builds whole models of these cells. Everything is
computed in float64 from the description in docs/equations.md, without code of the package. Names
of arrays and letters of shapes are those of `equations.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from equations import sigma

NEMATUS_EPS = 1e-5  # layer norm, RMS norm and weight norm of both versions of Nematus
MARIAN_EPS = 1e-9

# where the bias of a cell is added
INPUT = "input"  # with x W, outside the reset: p = tanh(x W + b + r * (h U))
STATE = "state"  # with h U, inside the reset: p = tanh(x W + r * (h U + b))
ABSENT = "absent"  # there is none

SIMPLE = ("sru", "ssru")  # no product of the state; Wf and bf for f, and Wr and br for r of an SRU
GATED = ("gru", "gru-before")  # these have Ux, Wx, bx for the proposal beside U, W, b for the gates
ACTIVATIONS = {
    "tanh": np.tanh,
    "sigmoid": sigma,
    "relu": lambda t: np.maximum(t, 0),
    "linear": lambda t: t,
    "maxout": lambda t: t.reshape(-1, 2).max(axis=1),  # the larger of each two neighbours
}


def log_softmax(x):
    """log p of a vector of logits."""
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def layer_norm(x, gain, eps):
    """Layer norm without a bias, (N,); the variance divides by N."""
    return (x - x.mean()) / np.sqrt(x.var() + eps) * gain


def rms_norm(x, gain, eps):
    """RMS norm, (N,)."""
    return x / np.sqrt((x**2).mean() + eps) * gain


def weight_norm(W, s):
    """W (M,N) with each column divided by its norm and by s (N,); the 1e-5 is under the root."""
    return W / (np.sqrt((W**2).sum(axis=0) + NEMATUS_EPS) * s)


class State(NamedTuple):
    """The state of a level."""

    h: np.ndarray  # (D,)
    c: np.ndarray | None = None  # (D,) memory of an LSTM or SRU


class Cell(NamedTuple):
    """The names of a cell's arrays: "{}" stands for "", for "x" at the proposal of a GRU, or for
    "f" and "r" at the gates of an SRU.
    """

    unit: str
    U: str
    b: str
    W: str | None = None  # a transition cell has no input
    Wc: str | None = None  # of a context beside the input
    bias: str = INPUT
    gamma: str = ""  # prefix of Marian's gains: gamma1 of the input, gamma2 of the state
    reads: str = "hidden"  # the kind of input: hidden or embedding; for `old_dropout`


@dataclass
class Cells:
    """The arrays of a model, its cells and its feed-forward layers.

    normalization: none, nematus, rms, marian. old_dropout: the probabilities of embedding, hidden,
    source and target in a model whose program multiplies by 1 - p at inference.
    """

    arrays: Mapping[str, np.ndarray]
    normalization: str = "none"
    weight_normalization: bool = False
    old_dropout: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self):
        arrays = {name: np.asarray(array) for name, array in self.arrays.items()}
        self.arrays = {n: a.astype(np.float64) for n, a in arrays.items() if a.dtype.kind in "fiu"}

    # -- arrays ------------------------------------------------------------------------------------

    def vector(self, name):
        """A bias or gain, (N,); Marian stores (1,N)."""
        return self.arrays[name].reshape(-1)

    def matrix(self, name, followed_by_softmax=False):
        """A matrix; weight norm leaves out the embeddings and the layers before a softmax."""
        W = self.arrays[name]
        if self.weight_normalization and not followed_by_softmax:
            return weight_norm(W, self.vector(f"{name}_wns"))
        return W

    def keep(self, kind):
        """1 - p of old dropout, 1 without."""
        return 1 - (self.old_dropout or {}).get(kind, 0)

    # -- normalisation -----------------------------------------------------------------------------

    def norm(self, x, name):
        """Nematus' norm of x, whose bias has been added; name: that of its arrays less s or b."""
        if self.normalization == "nematus":
            return layer_norm(x, self.vector(f"{name}s"), NEMATUS_EPS) + self.vector(f"{name}b")
        if self.normalization == "rms":
            return rms_norm(x, self.vector(f"{name}s"), NEMATUS_EPS)
        return x

    def affine(self, x, name, gamma="", kind="hidden"):
        """A feed-forward layer: Nematus LN(x W + b), Marian LN(x W) + b."""
        xW, b = (x * self.keep(kind)) @ self.matrix(f"{name}_W"), self.vector(f"{name}_b")
        if self.normalization == "marian":
            return layer_norm(xW, self.vector(gamma), MARIAN_EPS) + b
        return self.norm(xW + b, f"{name}_ln_")

    def sums(self, cell, part, h, x, c):
        """The terms of a cell's input and state, for its gates (part "") or its proposal ("x").

        INPUT  LN(x W + b) + LN(c Wc) and LN(h U);   without an input: b and LN(h U)
        STATE  LN(x W)                and LN(h U + b)
        """
        U, b = cell.U.format(part), 0
        if cell.bias != ABSENT:
            b = self.vector(cell.b.format(part))
        hU = (h * self.keep("hidden")) @ self.matrix(U)
        of_state = self.norm(hU + (b if cell.bias == STATE else 0), f"{U}_ln")
        of_input = b if cell.bias == INPUT else 0
        if cell.W is not None:
            W = cell.W.format(part)
            xW = (x * self.keep(cell.reads)) @ self.matrix(W)
            of_input = self.norm(xW + of_input, f"{W}_ln")
        if cell.Wc is not None:
            Wc = cell.Wc.format(part)
            of_input = of_input + self.norm(c @ self.matrix(Wc), f"{Wc}_ln")
        return of_input, of_state

    def marian_sums(self, cell, h, x, c):
        """The same with Marian's norm: over [gates | proposal] at once, the bias added after it.

        INPUT  LN(x [W Wx]) + b and LN(h [U Ux]);   without an input: b and LN(h [U Ux])
        STATE  LN(x [W Wx])     and LN(h [U Ux]) + b
        A context beside the input is not normalised. A tanh cell uses D of its 3D gains.
        """
        parts = ("", "x") if cell.unit in GATED else ("",)

        def product(y, name):
            return np.concatenate([y @ self.matrix(name.format(part)) for part in parts])

        def normalized(y, name, gamma):
            yM = product(y, name)
            return layer_norm(yM, self.vector(cell.gamma + gamma)[: len(yM)], MARIAN_EPS)

        b = np.concatenate([self.vector(cell.b.format(part)) for part in parts])
        of_state = normalized(h, cell.U, "gamma2")
        of_input = 0 * b if cell.W is None else normalized(x, cell.W, "gamma1")
        if cell.Wc is not None:
            of_input = of_input + product(c, cell.Wc)
        return (of_input + b, of_state) if cell.bias == INPUT else (of_input, of_state + b)

    def input_sum(self, cell, part, x, c):
        """The term of an SRU's input: x W (part ""), or with a bias that of its gate f or r."""
        W, b = cell.W.format(part), self.vector(cell.b.format(part)) if part else 0
        xW = (x * self.keep(cell.reads)) @ self.matrix(W)
        if self.normalization == "marian":
            total = layer_norm(xW, self.vector(f"{cell.gamma}gamma{part}"), MARIAN_EPS) + b
        else:
            total = self.norm(xW + b, f"{W}_ln")
        if cell.Wc is None:
            return total
        Wc = cell.Wc.format(part)
        return total + self.norm(c @ self.matrix(Wc), f"{Wc}_ln")

    # -- cells -----------------------------------------------------------------------------------

    def step(self, cell, state, x=None, c=None):
        """One step of a cell with a state, an input x and a context c."""
        h, D = state.h, len(state.h)
        if cell.unit in SIMPLE:
            f = sigma(self.input_sum(cell, "f", x, c))
            memory = f * state.c + (1 - f) * self.input_sum(cell, "", x, c)
            if cell.unit == "ssru":
                return State(np.maximum(memory, 0), memory)
            r = sigma(self.input_sum(cell, "r", x, c))
            return State(r * np.tanh(memory) + (1 - r) * x, memory)
        if self.normalization == "marian":
            of_input, of_state = self.marian_sums(cell, h, x, c)
        else:
            of_input, of_state = self.sums(cell, "", h, x, c)
        if cell.unit == "lstm":
            f, i, g, o = np.split(of_input + of_state, 4)
            memory = sigma(f) * state.c + sigma(i) * np.tanh(g)
            return State(sigma(o) * np.tanh(memory), memory)
        if cell.unit not in GATED:
            return State(ACTIVATIONS[cell.unit](of_input + of_state))

        r, z = np.split(sigma((of_input + of_state)[: 2 * D]), 2)
        if cell.unit == "gru-before":
            p = np.tanh(sum(self.sums(cell, "x", r * h, x, c)))
        else:
            if self.normalization == "marian":
                xWx, hUx = of_input[2 * D :], of_state[2 * D :]
            else:
                xWx, hUx = self.sums(cell, "x", h, x, c)
            p = np.tanh(xWx + r * hUx)
        return State(z * h + (1 - z) * p)

    def run(self, cells, state, x, c=None):
        """One step of a level: the first cell reads the input, the others only the state."""
        if not cells:
            return state
        state = self.step(cells[0], state, x, c)
        for cell in cells[1:]:
            state = self.step(cell, state)
        return state

    def zeros(self, cell):
        """The initial state, before the first word."""
        simple = cell.unit in SIMPLE
        sized = self.vector(cell.b.format("f")) if simple else self.arrays[cell.U.format("")]
        zero = np.zeros(len(sized))
        return State(zero, zero if simple or cell.unit == "lstm" else None)
