"""The equations of classifiers and taggers, deep ones too, in NumPy and float64.

One sentence at a time; the encoder is that of `deep_equations.py`.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from deep_cells import MARIAN_EPS, layer_norm, log_softmax
from deep_equations import EOS, DeepModel
from equations import crf_score, label_logits, pooled


class Labelled(NamedTuple):
    """The labels of a sentence, followed by EOS with probability 1; V ids, labels from 2."""

    distributions: np.ndarray  # (n+1, V) log p
    log_probs: np.ndarray  # (n+1,) log p of the given labels and EOS
    alignment: np.ndarray | None  # (n+1, S+1) attention


class LabelModel:
    """See the module; type: classifier or tagger; pooling: last, mean, max or attention."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        *,
        type: str,
        pooling: str = "mean",
        unit: str = "gru",
        crf: bool = False,
        **encoder,
    ):
        self.arrays = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
        self.type, self.pooling, self.crf = type, pooling, crf
        self.normalization = encoder.get("normalization", "none")
        self.reader = DeepModel(arrays, type="encdec", encoder_unit=unit, **encoder)

    def force_decode(self, source: Sequence[int], labels: Sequence[int]) -> Labelled:
        """Score a source and its labels, both without EOS."""
        annotations, last, _ = self.reader.encode(source)
        vectors, weights = self.vectors(annotations, last)
        assert len(vectors) == len(labels)
        rows = [self.distribution(v) for v in vectors]
        if self.crf:
            rows = self.chained(vectors, labels)
        at_end = np.full(2 + len(self.arrays["ff_logit_b"]), -np.inf)
        at_end[EOS] = 0.0
        rows = np.array([*rows, at_end])
        alignment = None
        if weights is not None:
            alignment = np.array([weights, np.eye(len(annotations))[-1]])
        return Labelled(rows, rows[range(len(rows)), [*labels, EOS]], alignment)

    def vectors(self, h: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """h (S+1,C) and the last annotation (C,) -> v_t (n,C), and the attention."""
        if self.type == "tagger":  # of a text without sub-words
            return h[:-1], None
        if self.pooling == "last":
            return last[None], None
        if self.pooling in ("mean", "max"):
            return pooled(self.arrays, h, self.pooling)[None], None
        W, b, q = (self.arrays[f"pooling_{name}"] for name in ("Wc_att", "b_att", "U_att"))
        if self.normalization == "marian":
            gamma = self.arrays["pooling_gamma1"]
            energies = [np.tanh(layer_norm(x, gamma, MARIAN_EPS) + b) @ q[:, 0] for x in h @ W]
        else:
            sums = (self.reader.norm(x + b, "pooling_Wc_att_ln") for x in h @ W)
            energies = [np.tanh(x) @ q[:, 0] for x in sums]
        weights = np.exp(energies) / np.exp(energies).sum()
        return (weights @ h)[None], weights

    def distribution(self, v: np.ndarray) -> np.ndarray:
        """v (C,) -> log p (V,), with probability 0 for EOS and the unknown word."""
        labels = log_softmax(label_logits(self.arrays, v))
        return np.concatenate([[-np.inf, -np.inf], labels])

    def chained(self, vectors: np.ndarray, labels: Sequence[int]) -> list[np.ndarray]:
        """For a CRF: log p(y_t | y_1..y_{t-1}), (V,) each, from the scores of all taggings."""
        n, L = len(vectors), len(self.arrays["ff_logit_b"])
        e = label_logits(self.arrays, vectors)
        rows = []
        for t in range(n):
            weights = np.zeros(L)  # of the taggings with the given prefix, followed by each tag
            for y in itertools.product(range(L), repeat=n):
                if y[:t] == tuple(label - 2 for label in labels[:t]):
                    weights[y[t]] += np.exp(crf_score(self.arrays, e, y))
            rows.append(np.concatenate([[-np.inf, -np.inf], np.log(weights / weights.sum())]))
        return rows
