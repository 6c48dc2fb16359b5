"""Minimum Bayes risk: choose the translation most similar to all translations of the model.

Source: Kumar and Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation";
with samples, Eikema and Aziz 2020, "Is MAP Decoding All You Need?". This module counts the n-grams
of each text once, and compares all pairs in matrices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..output.hypothesis import Hypothesis
from ..system.versions import installed


def expected_utilities(texts: Sequence[str], chances: np.ndarray, utility: str) -> np.ndarray:
    """The expected similarity of each text to a text drawn at random: (D,), 0 to 100.

    chances: (D,) the probability of each text, adding up to 1; utility: chrf or bleu, sacreBLEU's
    sentence scores with its defaults.
    """
    return (chrf if utility == "chrf" else bleu)(texts) @ chances


def chrf(texts: Sequence[str]) -> np.ndarray:
    """sacreBLEU's sentence chrF of each text with each as the reference: (D,D), 0 to 100."""
    without_spaces = ["".join(text.split()) for text in texts]
    precision = recall = orders = np.zeros((len(texts), len(texts)))
    for n in range(1, 7):
        matches, sizes = _matches([_n_grams(text, n) for text in without_spaces])
        both = (sizes[:, None] > 0) & (sizes > 0)  # skip n-grams longer than a text
        precision = precision + matches / np.maximum(sizes[:, None], 1) * both
        recall = recall + matches / np.maximum(sizes, 1) * both
        orders = orders + both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    return 100 * 5 * precision * recall / np.maximum(4 * precision + recall, 1e-16)


def bleu(texts: Sequence[str]) -> np.ndarray:
    """sacreBLEU's sentence BLEU of each text with each as the reference: (D,D), 0 to 100."""
    tokenize = installed("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    words = [tuple(tokenize(text.rstrip()).split()) for text in texts]
    lengths = np.array(list(map(len, words)), float)
    logs, orders, factor = (np.zeros((len(texts), len(texts))) for _ in range(3))
    for n in range(1, 5):
        matches, sizes = _matches([_n_grams(one, n) for one in words])
        some = sizes[:, None] > 0
        factor += (matches == 0) & some  # an order without a match halves its precision
        matched = np.where(matches > 0, matches, 0.5**factor)
        logs += np.where(some, np.log(matched / np.maximum(sizes[:, None], 1)), 0)
        orders += some
        if n == 1:
            similar = matches > 0
    brevity = np.minimum(0, 1 - lengths / np.maximum(lengths[:, None], 1))
    return np.where(similar, 100 * np.exp(brevity + logs / np.maximum(orders, 1)), 0)


def _n_grams(sequence: Sequence, n: int) -> Counter:
    return Counter(sequence[i : i + n] for i in range(len(sequence) - n + 1))


def _matches(counted: Sequence[Counter]) -> tuple[np.ndarray, np.ndarray]:
    """The number of n-grams that two texts share, (D,D), and that each text has, (D,)."""
    places = {gram: place for place, gram in enumerate(set().union(*counted))}
    counts = np.zeros((len(counted), len(places)), np.float32)
    for row, counter in zip(counts, counted, strict=True):
        row[[places[gram] for gram in counter]] = [*counter.values()]
    matches = np.zeros((len(counted), len(counted)), np.float32)
    # min(a, b) is the number of t for which both counts reach t
    for t in range(1, int(counts.max(initial=0)) + 1):
        reached = counts[:, (counts >= t).any(axis=0)] >= t
        matches += reached.astype(np.float32) @ reached.T.astype(np.float32)
    return matches.astype(float), counts.sum(axis=1, dtype=float)


def ranked(
    hypotheses: Sequence[Hypothesis], texts: Sequence[str], utility: str, *, sampled: bool
) -> list[tuple[int, float]]:
    """The places of the distinct translations in a list, with their expected utilities, best first.

    texts: the texts of the hypotheses to compare. sampled: whether the hypotheses are samples,
    which are equally probable; those of a beam have the model's probabilities, normalised. Of equal
    texts or equal utilities, the first one counts.
    """
    best = max((one.score for one in hypotheses), default=0.0)
    places: dict[str, int] = {}
    chances: dict[str, float] = {}
    for place, (one, text) in enumerate(zip(hypotheses, texts, strict=True)):
        places.setdefault(text, place)
        chance = 1.0 if sampled else math.exp(one.score - best)
        chances[text] = chances.get(text, 0.0) + chance
    shares = np.array([*chances.values()])
    utilities = expected_utilities([*places], shares / shares.sum(), utility)
    pairs = zip(places.values(), utilities.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])
