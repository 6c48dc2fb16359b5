"""An independent reference ("oracle") for the ladder of recurrent models and their units.

Language model, encoder-decoder, sequence to sequence, attention of Bahdanau et al. (RNNsearch)
and the conditional recurrence (cgru), each with GRUs, LSTMs or plain units. Like reference.py,
the oracle of the cGRU alone: plain NumPy in float64, one sentence at a time, one loop per
recurrence, no batching, no masks, no code of the package under test.

Notation (row vectors, a product reads ``x W``): S source tokens (+1 for EOS), T target tokens
(+1 for EOS), D state, E embedding, C context, A = C attention, V target vocabulary; ``*`` is
element-wise, sigma the logistic function. Names of arrays are those of DL4MT and Nematus.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from equations import sigma
from oracles.reference import (
    EOS,
    FIRST,
    MARIAN_EPS,
    NEMATUS_EPS,
    SECOND,
    layer_norm,
    log_softmax,
)

TYPES = ("lm", "encdec", "seq2seq", "rnnsearch", "cgru")
UNITS = ("gru", "gru-before", "lstm", "tanh", "relu", "sigmoid")
ENCODERS = ("unidirectional", "reversed", "bidirectional", "alternating", "bi-unidirectional")
ATTENTIVE = ("rnnsearch", "cgru")
GATED = ("gru", "gru-before")  # these have a second set of arrays, Ux Wx bx, for the proposal
ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda t: np.maximum(t, 0.0),
    "linear": lambda t: t,
    "maxout": lambda t: t.reshape(-1, 2).max(axis=1),  # of each pair of neighbouring columns
}


class Forced(NamedTuple):
    """The result of forced decoding of one sentence (pair); every array is float64."""

    log_probs: np.ndarray  # (T+1,) log p(y_j | y_<j, x), EOS included
    distributions: np.ndarray  # (T+1, V) log p(. | y_<j, x)
    alignment: np.ndarray | None  # (T+1, S+1) alpha_ij; None without attention
    annotations: np.ndarray | None  # (S+1, C) h_i; None for a language model
    start: np.ndarray  # (D,) h of s_0, base level
    states: np.ndarray  # (T+1, D) h of s_j of the base level, after its last transition
    contexts: np.ndarray | None  # (T+1, C) c_j; None for lm and seq2seq


class State(NamedTuple):
    """The state of a level between steps."""

    h: np.ndarray  # (D,)
    c: np.ndarray | None = None  # (D,) memory of an LSTM


class Cell(NamedTuple):
    """The names of the arrays of one cell.

    U, b, W and Wc are formatted with "", or with "x" for the proposal of a GRU.
    """

    unit: str
    U: str  # "encoder_U{}_drt_1"
    b: str
    W: str | None = None  # None: a transition cell, no input
    Wc: str | None = None  # for a context in addition to the input
    bias: str = FIRST  # with the input; or SECOND, with the state
    gamma: str = ""  # prefix of Marian's gains, gamma1 (input) and gamma2 (state)


class LadderModel:
    """One model of the ladder; see the module's docstring for the notation.

    type: lm, encdec, seq2seq, rnnsearch or cgru.
    encoder_unit, decoder_unit: gru (reset after the product), gru-before, lstm, tanh, relu or
        sigmoid.
        The decoder's unit, depth and transitions are also those of a language model.
    encoder: unidirectional, reversed (one reader, from the end), bidirectional (two separate
        stacks), alternating, bi-unidirectional (level 1 bidirectional, the others
        forward). seq2seq takes the first two.
    decoder_base_transition: cells of the decoder's base level; 2 by default for a cgru, else 1.
    deep_context: high decoder levels also read c_j.
    residual: sums from the second level of a stack on.
    normalization: "none", "nematus" or (lm and cgru, not gru-before) "marian".
    readout_activation: "tanh", "relu", "linear" or "maxout".
    decoder_start: "mean", or (rnnsearch and cgru) "last-backward".
    feedback: whether the decoder reads the previous word; False only for encdec and seq2seq.
    condition: for lm, "none", or the kind of input that replaces the source: "label", from 0,
        or "vector", (N,).
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        *,
        type: str,
        encoder_unit: str = "gru",
        decoder_unit: str = "gru",
        encoder: str = "bidirectional",
        encoder_depth: int = 1,
        encoder_transition: int = 1,
        decoder_depth: int = 1,
        decoder_base_transition: int | None = None,
        decoder_high_transition: int = 1,
        deep_context: bool = False,
        residual: bool = True,
        normalization: str = "none",
        readout_activation: str = "tanh",
        decoder_start: str = "mean",
        feedback: bool = True,
        condition: str = "none",
    ):
        assert type in TYPES
        assert encoder_unit in UNITS and decoder_unit in UNITS
        assert encoder in ENCODERS
        assert normalization in ("none", "nematus", "marian")
        assert readout_activation in ACTIVATIONS
        assert not deep_context or type not in ("lm", "seq2seq")
        if type == "seq2seq":  # level n of the decoder continues from level n of the encoder
            assert encoder in ("unidirectional", "reversed") and encoder_depth == decoder_depth
            assert (encoder_unit == "lstm") == (decoder_unit == "lstm")
        if normalization == "marian":
            assert type in ("lm", "cgru") and "gru-before" not in (encoder_unit, decoder_unit)
        if decoder_base_transition is None:
            decoder_base_transition = 2 if type == "cgru" else 1
        assert type != "cgru" or decoder_base_transition >= 2
        # Everything is float64 from here on.
        self.arrays = {
            name: np.asarray(array, dtype=np.float64)
            for name, array in arrays.items()
            if np.asarray(array).dtype.kind in "fiu"
        }
        self.type = type
        self.encoder_unit = encoder_unit
        self.decoder_unit = decoder_unit
        self.encoder = encoder
        self.encoder_depth = encoder_depth
        self.encoder_transition = encoder_transition
        self.decoder_depth = decoder_depth
        self.decoder_base_transition = decoder_base_transition
        self.decoder_high_transition = decoder_high_transition
        self.deep_context = deep_context
        self.residual = residual
        self.normalization = normalization
        self.readout_activation = readout_activation
        assert decoder_start == "mean" or type in ATTENTIVE
        self.decoder_start = decoder_start
        assert feedback or type in ("encdec", "seq2seq")
        self.feedback = feedback
        assert condition in ("none", "label", "vector") and (condition == "none" or type == "lm")
        self.condition = condition
        # A language model's recurrence is named as if it were a forward encoder.
        self.decoder_prefix = "encoder" if type == "lm" else "decoder"

    # --- arrays ---------------------------------------------------------------------------

    def vector(self, name: str) -> np.ndarray:
        """A bias or gain: (N,), also where the file has (1, N)."""
        return self.arrays[name].reshape(-1)

    @property
    def target_embedding(self) -> np.ndarray:
        """E (V,E): `Wemb_dec`; `Wemb` in a language model and where all embeddings are tied."""
        return self.arrays["Wemb_dec" if "Wemb_dec" in self.arrays else "Wemb"]

    # --- one step of a unit ---------------------------------------------------------------

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        """Nematus' layer norm, LN(x) * lns + lnb, or x where the model has none (or Marian's).

        name: of the gain less its last letter: `encoder_W_ln` -> `_lns` and `_lnb`.
        """
        if self.normalization != "nematus":
            return x
        return layer_norm(x, self.vector(name + "s"), NEMATUS_EPS) + self.vector(name + "b")

    def sums(
        self, cell: Cell, of: str, h: np.ndarray, x: np.ndarray | None, c: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What a unit adds up, apart: the input's share and the state's, both (N,).

            bias FIRST:  LN(x W + b) + LN(c Wc), LN(h U)       without an input: b, LN(h U)
            bias SECOND: LN(x W),                LN(h U + b)   without an input: 0, LN(h U + b)

        of: "" or "x". h (D,): the state, or what a GRU makes of it; x (in,), c (C,) or None.
        """
        U, b = cell.U.format(of), self.vector(cell.b.format(of))
        b_input, b_state = (b, 0.0 * b) if cell.bias == FIRST else (0.0 * b, b)
        state = self.norm(h @ self.arrays[U] + b_state, U + "_ln")
        share = b_input
        if cell.W is not None:
            W = cell.W.format(of)
            share = self.norm(x @ self.arrays[W] + b_input, W + "_ln")
        if cell.Wc is not None:
            Wc = cell.Wc.format(of)
            share = share + self.norm(c @ self.arrays[Wc], Wc + "_ln")
        return share, state

    def marian_sums(
        self, cell: Cell, h: np.ndarray, x: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `sums`, with Marian's layer norm: over all columns at once, (3D,) for a GRU.

            bias FIRST:  LN(x [W Wx]) gamma1 + b, LN(h [U Ux]) gamma2
            bias SECOND: LN(x [W Wx]) gamma1,     LN(h [U Ux]) gamma2 + b

        Gains of a tanh unit have size 3D, but only the first D are used; those of a relu have size
        D.
        """
        parts = ("", "x") if cell.unit in GATED else ("",)
        b = np.concatenate([self.vector(cell.b.format(of)) for of in parts])

        def normed(y: np.ndarray, name: str, gamma: str) -> np.ndarray:
            M = np.concatenate([self.arrays[name.format(of)] for of in parts], axis=1)
            return layer_norm(y @ M, self.vector(gamma)[: M.shape[1]], MARIAN_EPS)

        state = normed(h, cell.U, cell.gamma + "gamma2")
        share = 0.0 * state if cell.W is None else normed(x, cell.W, cell.gamma + "gamma1")
        return (share + b, state) if cell.bias == FIRST else (share, state + b)

    def step(
        self,
        cell: Cell,
        state: State,
        x: np.ndarray | None = None,
        c: np.ndarray | None = None,
    ) -> State:
        """One step of a unit: its state, an input (in,) and a context (C,) or None -> its state.

            gru:        [r z] = sigma(x W + h U + b)
                        p = tanh(x Wx + bx + r * (h Ux))       bias FIRST
                        p = tanh(x Wx + r * (h Ux + bx))       bias SECOND
                        h' = z * h + (1 - z) * p
            gru-before: p = tanh(x Wx + bx + (r * h) Ux)       the rest as gru
            lstm:       [f i g o] = x W + h U + b
                        c' = sigma(f) * c + sigma(i) * tanh(g),  h' = sigma(o) * tanh(c')
            tanh:       h' = tanh(x W + h U + b)
            relu:       h' = max(x W + h U + b, 0)
            sigmoid:    h' = sigma(x W + h U + b)

        Sources: DL4MT's cGRU note, eq. 2-5 and 9-12 (gru); the course deck (gru-before);
        Hochreiter and Schmidhuber (1997) with forget gates, blocks as in Marian (lstm).
        """
        h = state.h
        if self.normalization == "marian":
            share, recurrent = self.marian_sums(cell, h, x)
            n = 2 * len(h) if cell.unit in GATED else len(recurrent)
            xW, hU = share[:n], recurrent[:n]
        else:
            xW, hU = self.sums(cell, "", h, x, c)
        a = xW + hU

        if cell.unit == "tanh":
            return State(np.tanh(a))
        if cell.unit == "relu":
            return State(np.maximum(a, 0.0))
        if cell.unit == "sigmoid":
            return State(sigma(a))
        if cell.unit == "lstm":
            f, i, g, o = np.split(a, 4)
            memory = sigma(f) * state.c + sigma(i) * np.tanh(g)
            return State(sigma(o) * np.tanh(memory), memory)

        r, z = np.split(sigma(a), 2)
        if cell.unit == "gru-before":
            xWx, hUx = self.sums(cell, "x", r * h, x, c)
            p = np.tanh(xWx + hUx)
        else:
            if self.normalization == "marian":
                xWx, hUx = share[n:], recurrent[n:]
            else:
                xWx, hUx = self.sums(cell, "x", h, x, c)
            p = np.tanh(xWx + r * hUx)
        return State(z * h + (1.0 - z) * p)

    def zeros(self, cell: Cell) -> State:
        """The state of nothing read yet."""
        zero = np.zeros(self.arrays[cell.U.format("")].shape[0])
        return State(zero, zero if cell.unit == "lstm" else None)

    # --- levels ---------------------------------------------------------------------------

    def level(self, unit: str, prefix: str, transition: int) -> list[Cell]:
        """The cells of an encoder level or a high decoder level; the first has an input."""
        first = Cell(unit, prefix + "_U{}", prefix + "_b{}", prefix + "_W{}", gamma=prefix + "_")
        return [first] + [
            Cell(
                unit,
                f"{prefix}_U{{}}_drt_{i}",
                f"{prefix}_b{{}}_drt_{i}",
                gamma=f"{prefix}_drt_{i}_",
            )
            for i in range(1, transition)
        ]

    def base_level(self) -> list[Cell]:
        """The cells of the decoder's base level."""
        unit, prefix = self.decoder_unit, self.decoder_prefix
        gamma = "decoder_cell1_" if self.type == "cgru" else f"{prefix}_"
        cells = [Cell(unit, prefix + "_U{}", prefix + "_b{}", prefix + "_W{}", gamma=gamma)]
        if self.type in ("encdec", "rnnsearch"):
            cells = [cells[0]._replace(Wc="decoder_Wc{}")]
        if not self.feedback:
            cells = [cells[0]._replace(W=None)]
        for i in range(1, self.decoder_base_transition):
            suffix = "_nl" if i == 1 else f"_nl_drt_{i - 1}"
            if self.type != "cgru":
                suffix = f"_drt_{i}"
            cell = Cell(
                unit,
                f"{prefix}_U{{}}{suffix}",
                f"{prefix}_b{{}}{suffix}",
                bias=SECOND,
                gamma=f"{prefix}{suffix}_",
            )
            if self.type == "cgru" and i == 1:  # the second cell's input is the context
                cell = cell._replace(W="decoder_Wc{}", gamma="decoder_cell2_")
            cells.append(cell)
        return cells

    def run(
        self, cells: list[Cell], state: State, x: np.ndarray, c: np.ndarray | None = None
    ) -> State:
        """One step of a level: the first cell reads x (and c), the others the state only."""
        state = self.step(cells[0], state, x, c)
        for cell in cells[1:]:
            state = self.step(cell, state)
        return state

    # --- encoder --------------------------------------------------------------------------

    def read(self, prefix: str, xs: np.ndarray, backward: bool) -> tuple[np.ndarray, State]:
        """One reader of one level: (S+1, in) -> h_i (S+1, D) in sentence order; its last state.

        The last state is at the last position, or at the first where it reads from the end.
        """
        cells = self.level(self.encoder_unit, prefix, self.encoder_transition)
        state = self.zeros(cells[0])
        hs = np.zeros((len(xs), len(state.h)))
        order = range(len(xs))
        for i in reversed(order) if backward else order:
            state = self.run(cells, state, xs[i])
            hs[i] = state.h
        return hs, state

    def encode(self, source: Sequence[int]) -> tuple[np.ndarray, np.ndarray, list[State]]:
        """Source words -> annotations (S+1, C), the last annotation (C,), last state per level.

        The last annotation is the forward state at EOS and the backward state at the first
        position, concatenated if there are both. States are returned for a stack with a single
        direction.
        """
        xs = self.arrays["Wemb"][[*source, EOS]]
        two = self.encoder in ("bidirectional", "alternating", "bi-unidirectional")
        if not two:
            backward = self.encoder == "reversed"
            prefix = "encoder_r" if backward else "encoder"
            xs, states = self.stack(prefix, xs, backward, 1, 2)
            return xs, xs[0 if backward else -1], states

        alone = self.encoder == "bi-unidirectional"  # only level 1 has two readers
        forward = reverse = xs
        for n in range(1, 1 + (1 if alone else self.encoder_depth)):
            number = f"_{n}" if n > 1 else ""
            input_f, input_r = forward, reverse
            if self.encoder == "alternating" and n > 1:
                input_f, input_r = reverse, forward
            forward, _ = self.read("encoder" + number, input_f, False)
            reverse, _ = self.read("encoder_r" + number, input_r, True)
            if self.residual and n > 1:
                forward = forward + input_f
                reverse = reverse + input_r
        both = np.concatenate([forward, reverse], axis=1)
        if alone and self.encoder_depth > 1:
            hs, states = self.stack("encoder", both, False, 2, 3)
            return hs, hs[-1], states
        return both, np.concatenate([forward[-1], reverse[0]]), []

    def stack(
        self, prefix: str, xs: np.ndarray, backward: bool, first: int, residual_from: int
    ) -> tuple[np.ndarray, list[State]]:
        """Levels `first`.. of one direction: (S+1, in) -> (S+1, D), each level's last state."""
        states = []
        for n in range(first, self.encoder_depth + 1):
            hs, state = self.read(f"{prefix}_{n}" if n > 1 else prefix, xs, backward)
            xs = hs + xs if self.residual and n >= residual_from else hs
            states.append(state)
        return xs, states

    # --- decoder --------------------------------------------------------------------------

    def feed_forward(self, x: np.ndarray, name: str, gamma: str) -> np.ndarray:
        """x W + b, normalised, before its activation: (in,) -> (out,).

        Nematus: LN(x W + b). Marian: LN(x W) + b, gamma the name of its gain.
        """
        xW, b = x @ self.arrays[name + "_W"], self.vector(name + "_b")
        if self.normalization == "marian":
            return layer_norm(xW, self.vector(gamma), MARIAN_EPS) + b
        return self.norm(xW + b, name + "_ln_")

    def start(
        self, annotations: np.ndarray | None, last: np.ndarray | None, states: list[State]
    ) -> list[State]:
        """s_0 of every decoder level.

        lm: zeros. seq2seq: the encoder's last states, level by level. Others: tanh(v ff_state_W +
        b) for all levels, and for both h and c of an LSTM. v is the mean annotation (attention),
        the backward state at the first word (last-backward; Bahdanau et al. 2015), the last
        annotation (encdec), or the condition of an lm, which is passed as last.
        """
        if self.type == "lm" and self.condition == "none":
            return [self.zeros(self.base_level()[0])] * self.decoder_depth
        if self.type == "seq2seq":
            return states
        v = annotations.mean(axis=0) if self.type in ATTENTIVE else last
        if self.decoder_start == "last-backward":
            v = annotations[0, -self.arrays["ff_state_W"].shape[0] :]
        s = np.tanh(self.feed_forward(v, "ff_state", "ff_state_gamma"))
        return [State(s, s if self.decoder_unit == "lstm" else None)] * self.decoder_depth

    def attention(self, s: np.ndarray, annotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s (D,), h (S+1, C) -> c_j (C,), alpha_j (S+1,).

            e_ij = tanh(s W_comb_att + h_i Wc_att + b_att) U_att
            alpha_ij = exp(e_ij) / sum_k exp(e_kj),  c_j = sum_i alpha_ij h_i

        s is the state after the first cell (cgru) or that of the step before (rnnsearch). Layer
        norm: LN(h_i Wc_att + b_att) + LN(s W_comb_att); Marian: LN(h_i Wc_att) + b_att. A c_tt
        would shift every e_ij alike, so softmax does not see it. Source: Bahdanau, Cho and
        Bengio (2015); DL4MT's cGRU note, eq. 6-8.
        """
        hW = annotations @ self.arrays["decoder_Wc_att"]
        sW = s @ self.arrays["decoder_W_comb_att"]
        b = self.vector("decoder_b_att")
        if self.normalization == "marian":
            hW = layer_norm(hW, self.vector("decoder_att_gamma1"), MARIAN_EPS) + b
            sW = layer_norm(sW, self.vector("decoder_att_gamma2"), MARIAN_EPS)
        else:
            hW = self.norm(hW + b, "decoder_Wc_att_ln")
            sW = self.norm(sW, "decoder_W_comb_att_ln")
        e = np.tanh(hW + sW) @ self.arrays["decoder_U_att"][:, 0]
        alpha = np.exp(e - e.max())
        alpha = alpha / alpha.sum()
        return alpha @ annotations, alpha

    def base_step(
        self,
        state: State,
        y: np.ndarray,
        annotations: np.ndarray | None,
        last: np.ndarray | None,
    ) -> tuple[State, np.ndarray | None, np.ndarray | None]:
        """s_{j-1}, E[y_{j-1}] (E,) -> s_j, and c_j (C,) and alpha_j (S+1,) if there are any."""
        cells = self.base_level()
        if self.type == "cgru":
            state = self.step(cells[0], state, y)
            c, alpha = self.attention(state.h, annotations)
            return self.run(cells[1:], state, c), c, alpha
        c, alpha = None, None
        if self.type == "rnnsearch":
            c, alpha = self.attention(state.h, annotations)
        elif self.type == "encdec":
            c = last
        return self.run(cells, state, y, c), c, alpha

    def high_step(
        self, levels: list[State], s: np.ndarray, c: np.ndarray | None
    ) -> tuple[list[State], np.ndarray]:
        """The levels above the base: their states before -> their states after, the top (D,).

        Level n reads the output of level n-1, with deep context [output ; c_j]; its recurrence uses
        its own state, and the residual sum is only passed upwards.
        """
        below = s
        after = []
        for n, state in enumerate(levels, start=2):
            prefix = f"{self.decoder_prefix}_{n}"
            cells = self.level(self.decoder_unit, prefix, self.decoder_high_transition)
            x = np.concatenate([below, c]) if self.deep_context else below
            state = self.run(cells, state, x)
            after.append(state)
            below = below + state.h if self.residual else state.h
        return after, below

    def readout(self, y: np.ndarray | None, s: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """E[y_{j-1}] (E,), top state (D,), c_j (C,) or None -> log p(.) (V,).

            t_j = f(s_j lstm_W + b + E[y_{j-1}] prev_W + b + c_j ctx_W + b)
            p(y_j) = softmax(t_j ff_logit_W + ff_logit_b)

        Without a context the third term is absent, without y the second. With tied embeddings,
        ff_logit_W is E^T.
        """
        t = self.feed_forward(s, "ff_logit_lstm", "ff_logit_l1_gamma1")
        if y is not None:
            t = t + self.feed_forward(y, "ff_logit_prev", "ff_logit_l1_gamma0")
        if c is not None:
            t = t + self.feed_forward(c, "ff_logit_ctx", "ff_logit_l1_gamma2")
        t = ACTIVATIONS[self.readout_activation](t)
        tied = "ff_logit_W" not in self.arrays
        W = self.target_embedding.T if tied else self.arrays["ff_logit_W"]
        return log_softmax(t @ W + self.vector("ff_logit_b"))

    # --- the model ------------------------------------------------------------------------

    def force_decode(self, source: Sequence[int] | None, target: Sequence[int]) -> Forced:
        """Score one sentence pair, both without EOS, which is appended here. For an lm, source is
        None or the condition.

        The target embedding before the first word is zero, neither EOS nor a start symbol.
        """
        assert (source is None) == (self.type == "lm" and self.condition == "none")
        annotations, last, states = None, None, []
        if self.condition == "label":
            last = np.zeros(len(self.arrays["ff_state_W"]))
            last[source] = 1.0
        elif self.condition == "vector":
            last = np.asarray(source, np.float64)
        elif source is not None:
            annotations, last, states = self.encode(source)
        state, *levels = self.start(annotations, last, states)
        start = state.h
        E = self.target_embedding if self.feedback else None
        y = None if E is None else np.zeros(E.shape[1])
        distributions, alignment, hs, contexts = [], [], [], []
        for word in [*target, EOS]:
            state, c, alpha = self.base_step(state, y, annotations, last)
            levels, top = self.high_step(levels, state.h, c)
            distributions.append(self.readout(y, top, c))
            alignment.append(alpha)
            hs.append(state.h)
            contexts.append(c)
            y = None if E is None else E[word]
        log_p = np.array(distributions)
        return Forced(
            log_probs=log_p[range(len(log_p)), [*target, EOS]],
            distributions=log_p,
            alignment=None if alignment[0] is None else np.array(alignment),
            annotations=annotations,
            start=start,
            states=np.array(hs),
            contexts=None if contexts[0] is None else np.array(contexts),
        )
