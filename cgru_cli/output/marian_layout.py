"""The layouts of cgru, Marian and amun."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import UsageError
from .hypothesis import Hypothesis
from .layout import Layout, cost_of, matrix, weights_of
from .numbers import C_FLOAT, amun_float, c_float


@dataclass(frozen=True)
class CgruLayout(Layout):
    """Like Marian's, but scores and alignment of a right-to-left model are reversed, too."""

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """`F0= .. F1= .. ||| TOTAL`: the score of each model, and the total that ranks.

        The total of labels is a probability. A noisy channel has features of its own.
        """
        scores = hypothesis.model_scores or [hypothesis.score]
        named = hypothesis.features or [(f"F{i}", score) for i, score in enumerate(scores)]
        features = " ".join(f"{name}= {self.list_number(score)}" for name, score in named)
        total = math.exp(hypothesis.total) if self.probabilities else hypothesis.total
        return f"{features} ||| {self.list_number(total)}"

    def list_number(self, score: float) -> str:
        return c_float(score)


@dataclass(frozen=True)
class MarianLayout(CgruLayout):
    """The layout of Marian, which reverses only the words of a right-to-left model."""

    def in_reading_order(self, hypothesis: Hypothesis) -> Hypothesis:
        """In Marian's own format, scores and alignment stay in the order of decoding."""
        read = hypothesis.reversed()
        if self.format not in (None, "marian"):
            return read
        alignment = hypothesis.alignment
        if self.source_reversed and alignment is not None:
            alignment = np.concatenate([alignment[:, -2::-1], alignment[:, -1:]], axis=1)
        return hypothesis._replace(tokens=read.tokens, alignment=alignment)


@dataclass(frozen=True)
class AmunLayout(CgruLayout):
    """The layout of amun: three decimals, and alignments in another order."""

    own_format: ClassVar[str] = "amun"

    def __post_init__(self) -> None:
        if self.format == "nematus" and self.n_best:
            raise UsageError("amun prints no Nematus alignment in n-best lists; ask for soft")

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """Nothing if the header of the alignment holds the translation."""
        return "" if self.format == "nematus" else super().entry(number, hypothesis)

    def list_number(self, score: float) -> str:
        return amun_float(score)

    def alignment_field(self, hypothesis: Hypothesis) -> str:
        """amun writes a space only before a pair."""
        return super().alignment_field(hypothesis).rstrip(" ")

    def without_hypotheses(self) -> str:
        return "\n"

    def nematus_block(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """The cost is divided by the number of rows; numbers have C++'s digits."""
        weights = weights_of(hypothesis)
        cost = c_float(cost_of(hypothesis.score) / max(1, len(weights)))
        rows = [" ".join(map(C_FLOAT, row)) for row in weights.tolist()]
        return matrix(number, self.text(hypothesis), cost, source, len(weights), rows)
