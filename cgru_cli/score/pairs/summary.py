"""`cgru score --summary`: one number for all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import CgruError
from ...output.hypothesis import Hypothesis


class Summary:
    """Sums costs and words over pairs, with a column for each model or ensemble."""

    def __init__(self, kind: str, ends: Sequence[bool], form: str = ".6f"):
        """kind: one of `options.score.SUMMARIES`, or cross-entropy, Marian's name for ce-mean.

        ends: for each column, whether to count EOS as a word; labels have no EOS. form: the format
        specification of numbers.
        """
        self._kind, self._ends = kind, np.array(ends, np.int64)
        self._form = form
        self._costs = np.zeros(len(ends))  # nats, float64
        self._words = np.zeros(len(ends), np.int64)  # including EOS
        self._pairs = 0

    def add(self, scored: Sequence[Hypothesis]) -> None:
        self._costs -= [hypothesis.score for hypothesis in scored]
        self._words += self._ends
        self._words += np.array([len(hypothesis.tokens) for hypothesis in scored])
        self._pairs += 1

    def text(self) -> str:
        """One number for each column. Raises CgruError for a mean of no pairs or no words."""
        if not self._pairs and self._kind != "ce-sum":
            raise CgruError("no pairs: there is no mean of their scores")
        if not self._words.all() and self._kind in ("ce-mean-words", "perplexity"):
            raise CgruError("no words: there is no mean of their scores")
        return " ".join(
            format(self._value(cost, words), self._form)
            for cost, words in zip(self._costs.tolist(), self._words.tolist(), strict=True)
        )

    def _value(self, cost: float, words: int) -> float:
        if self._kind == "ce-sum":
            return cost
        if self._kind in ("ce-mean", "cross-entropy"):
            return cost / self._pairs
        mean = cost / words
        if self._kind == "ce-mean-words":
            return mean
        return math.exp(mean) if mean < 700 else math.inf
