"""The equations of deep models in NumPy: levels, transition cells, norms and variants.

It continues `equations.py` with the cells of `deep_cells.py`. docs/equations.md describes the
equations; they are computed here for one sentence in float64, without the package. A word is an id,
or with factors a tuple of ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from deep_cells import (
    ABSENT,
    ACTIVATIONS,
    INPUT,
    MARIAN_EPS,
    SIMPLE,
    STATE,
    Cell,
    Cells,
    State,
    layer_norm,
    log_softmax,
)

EOS = 0
ATTENTIVE = ("rnnsearch", "cgru")
DIRECTIONS = ["forward", "backward"]  # in the order of their halves of an annotation


class Forced(NamedTuple):
    """The results for a given target; None for parts that a type lacks."""

    log_probs: np.ndarray  # (T,) log p(y_j | y_<j, x)
    distributions: np.ndarray  # (T,V) log p(. | y_<j, x)
    alignment: np.ndarray | None  # (T,S) alpha_ij
    annotations: np.ndarray | None  # (S,C) h_i
    start: np.ndarray  # (D,) s_0 of the first level
    states: np.ndarray  # (T,D) s_j of the first level, after its last cell
    contexts: np.ndarray | None  # (T,C) c_j


@dataclass
class DeepModel(Cells):
    """A model that writes text, with its arrays under the names of DL4MT and Nematus.

    type: lm, encdec, seq2seq, rnnsearch or cgru. Units: gru, gru-before, lstm, sru, ssru, tanh,
    relu, sigmoid.
    encoder: unidirectional, reversed, bidirectional, alternating, bi-unidirectional.
    bias: "theano", or "nematus_tf" for deep models of Nematus-TF with theano_compat false.
    condition: none, label (an int), vector (N,). decoder_start: mean, last-backward. A language
    model has the decoder's unit, depth and cells.
    """

    type: str = "cgru"
    encoder_unit: str = "gru"
    decoder_unit: str = "gru"
    encoder: str = "alternating"
    encoder_depth: int = 1
    encoder_transition: int = 1  # cells of each level
    decoder_depth: int = 1
    decoder_base_transition: int = 0  # 0: 2 cells in a cgru, 1 in other types
    decoder_high_transition: int = 1
    deep_context: bool = False
    residual: bool = True
    bias: str = "theano"
    readout_activation: str = "tanh"
    mixture: int = 1
    lexical: bool = False
    decoder_start: str = "mean"  # or last-backward
    feedback: bool = True
    condition: str = "none"

    def __post_init__(self):
        super().__post_init__()
        self.decoder_base_transition = self.decoder_base_transition or 1 + (self.type == "cgru")
        self.prefix = "encoder" if self.type == "lm" else "decoder"  # DL4MT's names

    @property
    def target_embedding(self):
        """E (V,E); a model with one embedding has it as `Wemb`."""
        return self.arrays["Wemb_dec" if "Wemb_dec" in self.arrays else "Wemb"]

    # -- levels -----------------------------------------------------------------------------------

    def cells(self, unit, prefix, count, bias=INPUT, transition_bias=INPUT, reads="hidden"):
        """The cells of a level of the encoder, or of the decoder above the first."""
        names = [f"{prefix}_{root}{{}}" for root in ("U", "b", "W")]
        found = [Cell(unit, *names, bias=bias, gamma=f"{prefix}_", reads=reads)]
        for i in range(1, count):
            names = [f"{prefix}_{root}{{}}_drt_{i}" for root in ("U", "b")]
            found.append(Cell(unit, *names, bias=transition_bias, gamma=f"{prefix}_drt_{i}_"))
        return found

    def base_cells(self):
        """The cells of the decoder's first level; all but the first have the bias at the state."""
        unit, prefix, count = self.decoder_unit, self.prefix, self.decoder_base_transition
        first, *others = self.cells(unit, prefix, count, INPUT, STATE, "embedding")
        if self.type == "cgru":  # the second cell reads the context
            names = ["_nl", *(f"_nl_drt_{i}" for i in range(1, count - 1))][: count - 1]
            others = [Cell(unit, f"decoder_U{{}}{n}", f"decoder_b{{}}{n}") for n in names]
            others = [cell._replace(bias=STATE) for cell in others]
            others[:1] = [cell._replace(W="decoder_Wc{}") for cell in others[:1]]
        elif self.type in ("encdec", "rnnsearch"):
            first = first._replace(Wc="decoder_Wc{}")
        if not self.feedback:
            first = first._replace(W=None)
        gains = ["cell1", "cell2"] + [f"nl_drt_{i}" for i in range(1, count - 1)]
        cells = zip([first, *others], gains, strict=False)
        return [cell._replace(gamma=f"decoder_{gain}_") for cell, gain in cells]

    # -- encoder -----------------------------------------------------------------------------------

    def source_embeddings(self, source):
        """E_x[x_i] of the words and EOS, (S,E); those of factors side by side."""
        factors = 1 + sum(f"Wemb{k}" in self.arrays for k in range(1, 25))
        words = [word if isinstance(word, tuple) else (word,) for word in source]
        tables = [self.arrays[f"Wemb{k or ''}"] for k in range(factors)]
        rows = [
            np.concatenate([table[i] for table, i in zip(tables, word, strict=True)])
            for word in [*words, (EOS,) * factors]
        ]
        return np.array(rows) * self.keep("source")

    def read(self, direction, level, xs):
        """One reader of one level: its states (S,D) in the order of the sentence, and its last."""
        name = ("encoder_r" if direction == "backward" else "encoder") + f"_{level}" * (level > 1)
        transition_bias = ABSENT if self.bias == "nematus_tf" else INPUT
        reads = "embedding" if level == 1 else "hidden"
        cells = self.cells(
            self.encoder_unit, name, self.encoder_transition, INPUT, transition_bias, reads
        )
        state, states = self.zeros(cells[0]), []
        for x in xs if direction == "forward" else xs[::-1]:
            state = self.run(cells, state, x)
            states.append(state.h)
        return np.array(states if direction == "forward" else states[::-1]), state

    def directions(self, level):
        """The readers of a level."""
        if self.encoder == "reversed":
            return ["backward"]
        single = self.encoder == "bi-unidirectional" and level > 1
        return ["forward"] if single or self.encoder == "unidirectional" else DIRECTIONS

    def encode(self, source):
        """Words without EOS -> annotations (S,C), [hf_S ; hb_1] (C,), last state of each reader."""
        xs, last = self.source_embeddings(source), []
        outputs = dict.fromkeys(self.directions(1), xs)
        for level in range(1, self.encoder_depth + 1):
            inputs = outputs
            if level > 1 and self.encoder == "alternating":
                inputs = {"forward": outputs["backward"], "backward": outputs["forward"]}
            if level == 2 and self.encoder == "bi-unidirectional":
                inputs = {"forward": np.concatenate([*outputs.values()], axis=1)}
            outputs = {}
            for direction in self.directions(level):
                outputs[direction], state = self.read(direction, level, inputs[direction])
                last.append(state)
                if self.residual and level > (2 if self.encoder == "bi-unidirectional" else 1):
                    outputs[direction] = outputs[direction] + inputs[direction]
        ends = [h[-1] if direction == "forward" else h[0] for direction, h in outputs.items()]
        return np.concatenate([*outputs.values()], axis=1), np.concatenate(ends), last

    # -- decoder -----------------------------------------------------------------------------------

    def start(self, annotations, last, states):
        """s_0 of every level; the first memory of an LSTM or SRU is s_0 too."""
        if self.type == "lm" and self.condition == "none":
            return [self.zeros(self.base_cells()[0])] * self.decoder_depth
        if self.type == "seq2seq":
            return states
        v = annotations.mean(axis=0) if self.type in ATTENTIVE else last
        if self.decoder_start == "last-backward":
            v = annotations[0, -len(self.arrays["ff_state_W"]) :]
        s = np.tanh(self.affine(v, "ff_state", "ff_state_gamma"))
        return [
            State(s, s if self.decoder_unit in ("lstm", *SIMPLE) else None)
        ] * self.decoder_depth

    def attention(self, s, h):
        """Equations 6 to 8: the context c_j (C,) that state s finds in h (S,C), and alpha_j (S,).

        Nematus LN(h_i W_a + b_a) + LN(s U_a); Marian LN(h_i W_a) + b_a + LN(s U_a).
        """
        keep, b = self.keep("hidden"), self.vector("decoder_b_att")
        W_a, U_a = self.matrix("decoder_Wc_att"), self.matrix("decoder_W_comb_att")
        sU, hW = (s * keep) @ U_a, [(h_i * keep) @ W_a for h_i in h]
        if self.normalization == "marian":
            gamma1, gamma2 = (self.vector(f"decoder_att_gamma{i}") for i in (1, 2))
            sU = layer_norm(sU, gamma2, MARIAN_EPS)
            hW = [layer_norm(x, gamma1, MARIAN_EPS) + b for x in hW]
        else:
            sU = self.norm(sU, "decoder_W_comb_att_ln")
            hW = [self.norm(x + b, "decoder_Wc_att_ln") for x in hW]
        v_a = self.matrix("decoder_U_att")[:, 0]
        alpha = np.exp(log_softmax((np.tanh(sU + np.array(hW)) * keep) @ v_a))
        return alpha @ h, alpha

    def base_step(self, state, y, annotations, last):
        """The first level: s_{j-1} and E[y_{j-1}] -> s_j, c_j and alpha_j."""
        first, *others = self.base_cells()
        if self.type == "cgru":
            state = self.step(first, state, y)
            c, alpha = self.attention(state.h, annotations)
            return self.run(others, state, c), c, alpha
        c, alpha = last if self.type == "encdec" else None, None
        if self.type == "rnnsearch":
            c, alpha = self.attention(state.h, annotations)
        return self.run([first, *others], state, y, c), c, alpha

    def high_step(self, states, below, c):
        """The levels from 2 up: their states before -> after, and the output of the highest (D,).

        Each reads the output of the level below; its own state has no residual connection.
        """
        bias, after = STATE if self.bias == "nematus_tf" else INPUT, []
        for level, state in enumerate(states, start=2):
            name, count = f"{self.prefix}_{level}", self.decoder_high_transition
            cells = self.cells(self.decoder_unit, name, count, bias, bias)
            cells = [
                cell._replace(gamma=cell.gamma.replace("encoder", "decoder")) for cell in cells
            ]
            x = np.concatenate([below, c]) if self.deep_context else below
            after.append(self.run(cells, state, x))
            below = below + after[-1].h if self.residual else after[-1].h
        return after, below

    # -- readout -----------------------------------------------------------------------------------

    def output(self, t):
        """t W_o + b_o: (E,) -> (V,)."""
        if "ff_logit_W" in self.arrays:
            W_o = self.matrix("ff_logit_W", followed_by_softmax=True)
        else:
            W_o = self.target_embedding.T
        return (t * self.keep("hidden")) @ W_o + self.vector("ff_logit_b")

    def readout(self, y, s, c, alpha, xs):
        """log p(y_j), (V,), of E[y_{j-1}], the highest state, c_j, alpha_j and E_x[x_i] (S,E)."""
        t = self.affine(s, "ff_logit_lstm", "ff_logit_l1_gamma1")
        if y is not None:
            t = t + self.affine(y, "ff_logit_prev", "ff_logit_l1_gamma0", "embedding")
        if c is not None:
            t = t + self.affine(c, "ff_logit_ctx", "ff_logit_l1_gamma2")
        if self.readout_activation == "prelu":
            t = np.maximum(t, 0) + self.vector("ff_logit_prelu_slope") * np.minimum(t, 0)
        else:
            t = ACTIVATIONS[self.readout_activation](t)
        if self.mixture > 1:
            pi = t @ self.matrix("ff_logit_pi_W", followed_by_softmax=True)
            log_pi, terms = log_softmax(pi + self.vector("ff_logit_pi_b")), []
            for k in range(self.mixture):
                t_k = np.tanh(self.affine(t, f"ff_logit_mos_{k}", kind=""))
                terms.append(log_pi[k] + log_softmax(self.output(t_k)))
            return np.logaddexp.reduce(terms)
        logits = self.output(t)
        if self.lexical:
            l = np.tanh(alpha @ xs)
            l = np.tanh(self.affine(l, "ff_lexical", kind="")) + l
            W = self.matrix("ff_logit_lexical_W", followed_by_softmax=True)
            logits = logits + l @ W + self.vector("ff_logit_lexical_b")
        return log_softmax(logits)

    def force_decode(self, source: Sequence | int | None, target: Sequence[int]) -> Forced:
        """Score a given target; source and target without EOS, which is added here."""
        annotations, last, states, xs = None, None, [], None
        if self.condition == "label":
            last = np.eye(len(self.arrays["ff_state_W"]))[source]
        elif self.condition == "vector":
            last = np.asarray(source, np.float64)
        elif source is not None:
            annotations, last, states = self.encode(source)
            xs = self.source_embeddings(source)
        state, *above = self.start(annotations, last, states)
        start, rows, alphas, hs, contexts = state.h, [], [], [], []
        y = np.zeros(self.target_embedding.shape[1]) if self.feedback else None
        for word in [*target, EOS]:
            state, c, alpha = self.base_step(state, y, annotations, last)
            above, top = self.high_step(above, state.h, c)
            rows.append(self.readout(y, top, c, alpha, xs))
            alphas.append(alpha)
            hs.append(state.h)
            contexts.append(c)
            if self.feedback:
                y = self.target_embedding[word] * self.keep("target")
        return Forced(
            np.array([row[word] for row, word in zip(rows, [*target, EOS], strict=True)]),
            np.array(rows),
            None if alphas[0] is None else np.array(alphas),
            annotations,
            start,
            np.array(hs),
            None if contexts[0] is None else np.array(contexts),
        )
