"""An independent reference ("oracle") for the conditional-GRU attention model.

Plain NumPy in float64: one sentence at a time, one loop per recurrence, no batching, no masks.
It shares no code with the package under test and is meant to be read next to the papers.

Notation (row vectors, as in Marian's notes on DL4MT, so that a product reads ``x W``):
S source tokens (+1 for EOS), T target tokens (+1 for EOS), D state, E embedding, C = 2D context,
V target vocabulary, M mixture components; ``*`` is element-wise, sigma the logistic function.
Equation numbers (1)-(12) are those of the DL4MT tutorial note on the conditional GRU (Firat and
Cho, 2016). Gates are stored [reset | update], h' = u * h + (1 - u) * p: z of the note is u here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from equations import sigma

EOS = 0
NEMATUS_EPS = 1e-5  # layer norm, RMS norm and weight norm of both Nematus versions
MARIAN_EPS = 1e-9  # layer norm of Marian's `gru` cell (models of type amun and s2s)

# The position of a GRU cell's bias.
FIRST = "first"  # with the input, outside the reset: p = tanh(r * (h Ux) + x Wx + bx)
SECOND = "second"  # with the state, inside the reset: p = tanh(r * (h Ux + bx) + x Wx)
ABSENT = "absent"  # no bias at all: p = tanh(r * (h Ux))


class Forced(NamedTuple):
    """The result of forced decoding of one sentence pair; every array is float64."""

    log_probs: np.ndarray  # (T+1,) log p(y_j | y_<j, x), EOS included
    distributions: np.ndarray  # (T+1, V) log p(. | y_<j, x)
    alignment: np.ndarray  # (T+1, S+1) alpha_ij
    annotations: np.ndarray  # (S+1, C) h_i
    start: np.ndarray  # (D,) s_0
    states: np.ndarray  # (T+1, D) s_j of the base level, after its last transition
    contexts: np.ndarray  # (T+1, C) c_j


class Cell(NamedTuple):
    """The array names of one GRU cell; W and Wx are None in a transition cell (no input)."""

    W: str | None
    Wx: str | None
    U: str
    Ux: str
    b: str
    bx: str
    gamma: str  # prefix of Marian's gains, gamma1 (input) and gamma2 (state)
    bias: str  # FIRST, SECOND or ABSENT


def log_softmax(x: np.ndarray) -> np.ndarray:
    """log(exp(x_k) / sum_l exp(x_l)) of a vector."""
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def layer_norm(x: np.ndarray, gain: np.ndarray, eps: float) -> np.ndarray:
    """gain * (x - mean(x)) / sqrt(var(x) + eps) over the last axis; var divides by N."""
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + eps)


def rms_norm(x: np.ndarray, gain: np.ndarray, eps: float) -> np.ndarray:
    """gain * x / sqrt(mean(x^2) + eps) over the last axis (Nematus-TF's RMSNormLayer)."""
    return gain * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def weight_norm(W: np.ndarray, s: np.ndarray) -> np.ndarray:
    """W / (sqrt(sum_rows W^2 + eps) * s), column-wise (Nematus-Theano's weight_norm)."""
    return W / (np.sqrt((W**2).sum(axis=0) + NEMATUS_EPS) * s)


class ReferenceModel:
    """The model in Nematus-Theano's array names; see the module's docstring for the notation.

    bias: "theano" (also DL4MT and Marian): encoder and high decoder cells FIRST. "nematus_tf"
        (Nematus-TF with theano_compat false): encoder transition cells ABSENT, high decoder
        cells SECOND. The base level of the decoder is the same in both.
    normalization: "none", "nematus", "rms" or "marian".
    weight_normalization: Nematus-Theano's `*_wns`.
    old_dropout: None, or the probabilities {embedding, hidden, source, target} of a
        Nematus-Theano model with model_version < 0.1, whose dropout masks are (1 - p) at
        inference. They scale activations, where the Theano graph multiplies by its masks.
    readout_activation: "tanh", "relu", "prelu" or "linear".
    mixture: number of softmaxes; from 2 up a mixture of softmaxes.
    lexical: the lexical model; Nematus-TF ignores it together with a mixture of softmaxes.
    deep_context: high decoder levels also read c_j.
    residual: sums from the second level of a stack on (false: Marian without --skip).
    alternating: directions alternate up the encoder's stacks (false: each stack keeps its
    direction). decoder_base_transition: cells of the base level; 2 is the plain conditional GRU.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        *,
        bias: str = "theano",
        normalization: str = "none",
        weight_normalization: bool = False,
        old_dropout: Mapping[str, float] | None = None,
        readout_activation: str = "tanh",
        mixture: int = 1,
        lexical: bool = False,
        deep_context: bool = False,
        residual: bool = True,
        alternating: bool = True,
        encoder_depth: int = 1,
        encoder_transition: int = 1,
        decoder_depth: int = 1,
        decoder_base_transition: int = 2,
        decoder_high_transition: int = 1,
    ):
        assert bias in ("theano", "nematus_tf")
        assert normalization in ("none", "nematus", "rms", "marian")
        assert readout_activation in ("tanh", "relu", "prelu", "linear")
        # Theano had neither, so the position of their scaling is undefined.
        assert old_dropout is None or (mixture == 1 and not lexical)
        # Everything is float64 from here on; arrays of Python objects are ignored.
        self.arrays = {
            name: np.asarray(array, dtype=np.float64)
            for name, array in arrays.items()
            if np.asarray(array).dtype.kind in "fiu"
        }
        self.bias = bias
        self.normalization = normalization
        self.weight_normalization = weight_normalization
        self.readout_activation = readout_activation
        self.mixture = mixture
        self.lexical = lexical
        self.deep_context = deep_context
        self.residual = residual
        self.alternating = alternating
        self.encoder_depth = encoder_depth
        self.encoder_transition = encoder_transition
        self.decoder_depth = decoder_depth
        self.decoder_base_transition = decoder_base_transition
        self.decoder_high_transition = decoder_high_transition
        dropout = old_dropout or {}
        self.keep_embedding = 1.0 - dropout.get("embedding", 0.0)
        self.keep_hidden = 1.0 - dropout.get("hidden", 0.0)
        self.keep_source = 1.0 - dropout.get("source", 0.0)
        self.keep_target = 1.0 - dropout.get("target", 0.0)

    # --- arrays ---------------------------------------------------------------------------

    def vector(self, name: str) -> np.ndarray:
        """A bias, gain or similar: (N,), also if the file has (1, N)."""
        return self.arrays[name].reshape(-1)

    def matrix(self, name: str, followed_by_softmax: bool = False) -> np.ndarray:
        """A weight matrix; weight norm is on all but those right before the softmax."""
        W = self.arrays[name]
        if self.weight_normalization and not followed_by_softmax:
            W = weight_norm(W, self.vector(name + "_wns"))
        return W

    def embedding(self, name: str) -> np.ndarray:
        """An embedding matrix, (V, E); weight norm leaves these alone."""
        return self.arrays[name]

    @property
    def target_embedding(self) -> np.ndarray:
        """E of (2)-(5): `Wemb_dec`, or `Wemb` where all embeddings are tied."""
        return self.embedding("Wemb_dec" if "Wemb_dec" in self.arrays else "Wemb")

    # --- layers ---------------------------------------------------------------------------

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        """The normalisation of a pre-activation that already has its bias (not Marian's).

        name: of the gain less its last letter: `encoder_W_ln` -> `_lns` and `_lnb`.
        """
        if self.normalization == "nematus":
            return layer_norm(x, self.vector(name + "s"), NEMATUS_EPS) + self.vector(name + "b")
        if self.normalization == "rms":
            return rms_norm(x, self.vector(name + "s"), NEMATUS_EPS)
        return x

    def feed_forward(
        self, x: np.ndarray, name: str, keep: float, gamma: str | None = None
    ) -> np.ndarray:
        """x W + b, normalised, before its activation: (in,) -> (out,).

        Nematus: LN(x W + b) (fflayer). Marian: LN(x W) + b (mlp::Dense).
        keep: (1 - p) of the input. gamma: the name of Marian's gain.
        """
        xW = (x * keep) @ self.matrix(name + "_W")
        b = self.vector(name + "_b")
        if self.normalization == "marian":
            return layer_norm(xW, self.vector(gamma or name + "_gamma"), MARIAN_EPS) + b
        return self.norm(xW + b, name + "_ln_")

    def gru(
        self,
        cell: Cell,
        h: np.ndarray,
        x: np.ndarray | None,
        keep_x: float = 1.0,
    ) -> np.ndarray:
        """One step of a gated recurrent unit: h (D,), x (in,) or None -> h' (D,).

            [r u] = sigma(x W + h U + b)                                   (4) (5), (11) (12)
            p = tanh(x Wx + bx + r * (h Ux))          bias FIRST           (3)
            p = tanh(x Wx + r * (h Ux + bx))          bias SECOND          (10)
            h' = u * h + (1 - u) * p                                       (2), (9)

        The reset gate multiplies after the product. A transition cell has no x. With layer norm
        the place of the bias matters for the gates too: LN(x W + b) + LN(h U) or
        LN(x W) + LN(h U + b); a FIRST transition cell, whose x W is missing, adds b after the
        norm. Sources: gru_layer and gru_cond_layer of Nematus-Theano, GRUStep of Nematus-TF
        (LegacyBiasType), GRU of Marian's rnn/cells.h.
        """
        if self.normalization == "marian":
            return self._marian_gru(cell, h, x)
        D = h.shape[-1]
        zero, zerox = np.zeros(2 * D), np.zeros(D)
        b, bx = zero, zerox
        if cell.bias != ABSENT:
            b, bx = self.vector(cell.b), self.vector(cell.bx)
        # The input's and the state's terms.
        b_input, bx_input = (b, bx) if cell.bias == FIRST else (zero, zerox)
        b_state, bx_state = (b, bx) if cell.bias == SECOND else (zero, zerox)

        if x is None:
            xW, xWx = b_input, bx_input
        else:
            x = x * keep_x
            xW = self.norm(x @ self.matrix(cell.W) + b_input, cell.W + "_ln")
            xWx = self.norm(x @ self.matrix(cell.Wx) + bx_input, cell.Wx + "_ln")
        # Old dropout scales h on its way into the products, not in the interpolation below.
        h_in = h * self.keep_hidden
        hU = self.norm(h_in @ self.matrix(cell.U) + b_state, cell.U + "_ln")
        hUx = self.norm(h_in @ self.matrix(cell.Ux) + bx_state, cell.Ux + "_ln")

        r, u = np.split(sigma(xW + hU), 2)
        p = np.tanh(xWx + r * hUx)
        return u * h + (1.0 - u) * p

    def _marian_gru(self, cell: Cell, h: np.ndarray, x: np.ndarray | None) -> np.ndarray:
        """As `gru`, with Marian's layer norm (GRU of rnn/cells.h, gruOps).

            a = LN(x [W Wx]; gamma1), g = LN(h [U Ux]; gamma2)    each one norm over 3D
            [r u] = sigma(a_{1..2D} + g_{1..2D} + b)
            p = tanh(a_x + r * g_x + bx) or tanh(a_x + r * (g_x + bx))

        Gains only; the bias is added after the norm. Marian calls SECOND "final".
        """
        assert cell.bias in (FIRST, SECOND)
        D = h.shape[-1]
        b, bx = self.vector(cell.b), self.vector(cell.bx)
        U = np.concatenate([self.matrix(cell.U), self.matrix(cell.Ux)], axis=1)
        g = layer_norm(h @ U, self.vector(cell.gamma + "gamma2"), MARIAN_EPS)
        a = np.zeros(3 * D)
        if x is not None:
            W = np.concatenate([self.matrix(cell.W), self.matrix(cell.Wx)], axis=1)
            a = layer_norm(x @ W, self.vector(cell.gamma + "gamma1"), MARIAN_EPS)
        r, u = np.split(sigma(a[: 2 * D] + g[: 2 * D] + b), 2)
        if cell.bias == FIRST:
            p = np.tanh(a[2 * D :] + r * g[2 * D :] + bx)
        else:
            p = np.tanh(a[2 * D :] + r * (g[2 * D :] + bx))
        return u * h + (1.0 - u) * p

    def cells(self, prefix: str, transition: int, bias: str, transition_bias: str) -> list[Cell]:
        """A GRU of `transition` cells, the first with an input: encoder or high decoder level."""
        first = Cell(
            *(f"{prefix}_{name}" for name in ("W", "Wx", "U", "Ux", "b", "bx")),
            gamma=f"{prefix}_",
            bias=bias,
        )
        return [first] + [
            Cell(
                None,
                None,
                *(f"{prefix}_{name}_drt_{i}" for name in ("U", "Ux", "b", "bx")),
                gamma=f"{prefix}_drt_{i}_",
                bias=transition_bias,
            )
            for i in range(1, transition)
        ]

    def deep_transition(
        self, cells: list[Cell], h: np.ndarray, x: np.ndarray, keep_x: float
    ) -> np.ndarray:
        """One step of a deep-transition GRU: the first cell reads x, the others the state only."""
        h = self.gru(cells[0], h, x, keep_x)
        for cell in cells[1:]:
            h = self.gru(cell, h, None)
        return h

    # --- encoder --------------------------------------------------------------------------

    def source_embeddings(self, source: Sequence[int | tuple[int, ...]]) -> np.ndarray:
        """E_i, the factors' rows side by side: (S+1, E). Factor k reads `Wemb` or `Wembk`."""
        n_factors = 1
        while f"Wemb{n_factors}" in self.arrays:
            n_factors += 1
        matrices = [self.embedding(f"Wemb{k or ''}") for k in range(n_factors)]
        rows = []
        for token in [*source, EOS]:
            factors = token if isinstance(token, tuple) else (token,)
            if len(rows) == len(source):
                factors = (EOS,) * n_factors  # EOS is 0 in every factor
            rows.append(np.concatenate([W[f] for W, f in zip(matrices, factors, strict=True)]))
        return np.stack(rows) * self.keep_source

    def recurrence(self, cells: list[Cell], xs: np.ndarray, backward: bool, keep: float):
        """h_i for all i, from h = 0: (S+1, in) -> (S+1, D), in sentence order also backward."""
        D = self.matrix(cells[0].Ux).shape[0]
        h = np.zeros(D)
        hs = np.zeros((len(xs), D))
        order = range(len(xs))
        for i in reversed(order) if backward else order:
            h = self.deep_transition(cells, h, xs[i], keep)
            hs[i] = h
        return hs

    def encode(self, xs: np.ndarray) -> np.ndarray:
        """The annotations h_i = [h_fwd_i ; h_bwd_i]: (S+1, E) -> (S+1, C).

        Level n > 1 of `encoder_n` runs forward over the level below: the backward states when
        directions alternate, the forward ones else. A residual sum from level 2 on.
        """
        transition_bias = FIRST if self.bias == "theano" else ABSENT
        forward = backward = xs
        for level in range(1, self.encoder_depth + 1):
            number = f"_{level}" if level > 1 else ""
            cells_f, cells_r = (
                self.cells(prefix + number, self.encoder_transition, FIRST, transition_bias)
                for prefix in ("encoder", "encoder_r")
            )
            input_f, input_r = forward, backward
            if self.alternating and level > 1:
                input_f, input_r = backward, forward
            keep = self.keep_embedding if level == 1 else self.keep_hidden
            forward = self.recurrence(cells_f, input_f, False, keep)
            backward = self.recurrence(cells_r, input_r, True, keep)
            if self.residual and level > 1:
                forward = forward + input_f
                backward = backward + input_r
        return np.concatenate([forward, backward], axis=1)

    # --- decoder --------------------------------------------------------------------------

    def start_state(self, annotations: np.ndarray) -> np.ndarray:
        """s_0 = tanh(mean_i(h_i) ff_state_W + ff_state_b): (S+1, C) -> (D,)."""
        mean = annotations.mean(axis=0)
        return np.tanh(self.feed_forward(mean, "ff_state", self.keep_hidden))

    def attention(self, s: np.ndarray, annotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ATT: s'_j (D,), h (S+1, C) -> c_j (C,), alpha_j (S+1,).

            e_ij = tanh(s'_j W_comb_att + h_i Wc_att + b_att) U_att + c_tt     (8)
            alpha_ij = exp(e_ij) / sum_k exp(e_kj)                             (7)
            c_j = sum_i alpha_ij h_i                                           (6)

        Layer norm: LN(h_i Wc_att + b_att) + LN(s' W_comb_att); Marian: LN(h_i Wc_att) + b_att.
        The c_j that is summed is over the h_i themselves, whatever old dropout scales in e.
        """
        hW = (annotations * self.keep_hidden) @ self.matrix("decoder_Wc_att")
        sW = (s * self.keep_hidden) @ self.matrix("decoder_W_comb_att")
        b = self.vector("decoder_b_att")
        if self.normalization == "marian":
            hW = layer_norm(hW, self.vector("decoder_att_gamma1"), MARIAN_EPS) + b
            sW = layer_norm(sW, self.vector("decoder_att_gamma2"), MARIAN_EPS)
        else:
            hW = self.norm(hW + b, "decoder_Wc_att_ln")
            sW = self.norm(sW, "decoder_W_comb_att_ln")
        e = (np.tanh(hW + sW) * self.keep_hidden) @ self.matrix("decoder_U_att")[:, 0]
        # c_tt shifts every e_ij alike, so softmax does not see it: absent and (1, 0) are fine.
        if "decoder_c_tt" in self.arrays and self.arrays["decoder_c_tt"].size == 1:
            e = e + self.vector("decoder_c_tt")
        alpha = np.exp(e - e.max())
        alpha = alpha / alpha.sum()
        return alpha @ annotations, alpha

    def base_step(
        self, s: np.ndarray, y: np.ndarray, annotations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(1): s_{j-1} (D,), E[y_{j-1}] (E,) -> s_j (D,), c_j (C,), alpha_j (S+1,).

        REC1 (2)-(5), ATT (6)-(8), REC2 (9)-(12), then transition cells without an input.
        """
        rec1 = Cell(
            *(f"decoder_{name}" for name in ("W", "Wx", "U", "Ux", "b", "bx")),
            gamma="decoder_cell1_",
            bias=FIRST,
        )
        rec2 = Cell(
            *(f"decoder_{name}" for name in ("Wc", "Wcx", "U_nl", "Ux_nl", "b_nl", "bx_nl")),
            gamma="decoder_cell2_",
            bias=SECOND,
        )
        s = self.gru(rec1, s, y, self.keep_embedding)
        c, alpha = self.attention(s, annotations)
        s = self.gru(rec2, s, c, self.keep_hidden)
        for i in range(1, self.decoder_base_transition - 1):
            names = (f"decoder_{name}_nl_drt_{i}" for name in ("U", "Ux", "b", "bx"))
            gamma = f"decoder_nl_drt_{i}_"
            s = self.gru(Cell(None, None, *names, gamma=gamma, bias=SECOND), s, None)
        return s, c, alpha

    def high_step(
        self, levels: list[np.ndarray], s: np.ndarray, c: np.ndarray
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The levels above the base: their states before -> their states after, and the top.

        Level n reads the output of level n-1, with deep context [output ; c_j]; its recurrence uses
        its own state, and the residual sum is only passed upwards.
        """
        bias = FIRST if self.bias == "theano" else SECOND
        below = s
        after = []
        for n, state in enumerate(levels, start=2):
            x = np.concatenate([below, c]) if self.deep_context else below
            cells = self.cells(f"decoder_{n}", self.decoder_high_transition, bias, bias)
            state = self.deep_transition(cells, state, x, self.keep_hidden)
            after.append(state)
            below = below + state if self.residual else state
        return after, below

    # --- readout --------------------------------------------------------------------------

    def logits(self, t: np.ndarray) -> np.ndarray:
        """t ff_logit_W + ff_logit_b, E^T for ff_logit_W where it is tied: (E,) -> (V,)."""
        if "ff_logit_W" in self.arrays:
            W = self.matrix("ff_logit_W", followed_by_softmax=True)
        else:
            W = self.target_embedding.T
        return (t * self.keep_hidden) @ W + self.vector("ff_logit_b")

    def readout(
        self,
        y: np.ndarray,
        s: np.ndarray,
        c: np.ndarray,
        alpha: np.ndarray,
        xs: np.ndarray,
    ) -> np.ndarray:
        """E[y_{j-1}] (E,), top state (D,), c_j (C,), alpha_j, E_i (S+1, E) -> log p (V,).

        t_j = f(s_j lstm_W + b + E[y_{j-1}] prev_W + b + c_j ctx_W + b)
        p(y_j) = softmax(t_j ff_logit_W + ff_logit_b)
        PReLU: f(v) = max(v, 0) + slope * min(v, 0)
        mixture: p(y_j) = sum_k pi_k softmax(tanh(t_j mos_k_W + b) ff_logit_W + ff_logit_b),
            pi = softmax(t_j pi_W + b)                                   (Nematus-TF, MoS)
        lexical: l_j = tanh(sum_i alpha_ij E_i), the logits gain
            (tanh(l_j ff_lexical_W + b) + l_j) ff_logit_lexical_W + b    (LexicalModel)
        """
        t = (
            self.feed_forward(y, "ff_logit_prev", self.keep_embedding, "ff_logit_l1_gamma0")
            + self.feed_forward(s, "ff_logit_lstm", self.keep_hidden, "ff_logit_l1_gamma1")
            + self.feed_forward(c, "ff_logit_ctx", self.keep_hidden, "ff_logit_l1_gamma2")
        )
        if self.readout_activation == "tanh":
            t = np.tanh(t)
        elif self.readout_activation == "relu":
            t = np.maximum(t, 0.0)
        elif self.readout_activation == "prelu":
            slope = self.vector("ff_logit_prelu_slope")
            t = np.maximum(t, 0.0) + slope * np.minimum(t, 0.0)

        if self.mixture > 1:
            pi_W = self.matrix("ff_logit_pi_W", followed_by_softmax=True)
            log_pi = log_softmax(t @ pi_W + self.vector("ff_logit_pi_b"))
            terms = []
            for k in range(self.mixture):
                t_k = np.tanh(self.feed_forward(t, f"ff_logit_mos_{k}", 1.0))
                terms.append(log_pi[k] + log_softmax(self.logits(t_k)))
            return np.logaddexp.reduce(terms, axis=0)

        logits = self.logits(t)
        if self.lexical:
            lexical = np.tanh(alpha @ xs)
            lexical = np.tanh(self.feed_forward(lexical, "ff_lexical", 1.0)) + lexical
            W = self.matrix("ff_logit_lexical_W", followed_by_softmax=True)
            logits = logits + lexical @ W + self.vector("ff_logit_lexical_b")
        return log_softmax(logits)

    # --- the model ------------------------------------------------------------------------

    def force_decode(
        self, source: Sequence[int | tuple[int, ...]], target: Sequence[int]
    ) -> Forced:
        """Score one sentence pair, both without EOS: it is appended here.

        The target embedding before the first word is zero, neither EOS nor a start symbol.
        Every decoder level starts from its own copy of s_0.
        """
        xs = self.source_embeddings(source)
        annotations = self.encode(xs)
        start = self.start_state(annotations)
        E = self.target_embedding
        s = start
        levels = [start] * (self.decoder_depth - 1)
        y = np.zeros(E.shape[1])
        log_probs, distributions, alignment, states, contexts = [], [], [], [], []
        for word in [*target, EOS]:
            s, c, alpha = self.base_step(s, y, annotations)
            levels, top = self.high_step(levels, s, c)
            log_p = self.readout(y, top, c, alpha, xs)
            log_probs.append(log_p[word])
            distributions.append(log_p)
            alignment.append(alpha)
            states.append(s)
            contexts.append(c)
            y = E[word] * self.keep_target
        return Forced(
            log_probs=np.array(log_probs),
            distributions=np.array(distributions),
            alignment=np.array(alignment),
            annotations=annotations,
            start=start,
            states=np.array(states),
            contexts=np.array(contexts),
        )
