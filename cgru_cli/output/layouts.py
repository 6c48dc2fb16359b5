"""The layout of each program.

Nematus, Nematus-TF and DL4MT print costs: negated log-probabilities. A layout has the fields of
`Layout` and no others.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import UsageError
from ..parameters.program import Program
from .hypothesis import Hypothesis
from .layout import (
    C_FLOAT,
    EOS,
    Layout,
    c_float,
    cost_of,
    float32,
    matrix,
    numpy_float32,
    python2_float,
    weights_of,
)

# Nematus-TF's addition to n-best lists if fewer hypotheses than the beam size are finished.
_PADDING = Hypothesis(tokens=(), finished=True, score=-1e7, total=-1e7)


class CgruLayout(Layout):
    """Like Marian's layout, but also reverses scores and alignment of a right-to-left model."""

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """`F0= .. F1= .. ||| TOTAL`: the score of each model, and the total that ranks hypotheses.

        The total of labels is a probability. A noisy channel has its own features.
        """
        scores = hypothesis.model_scores or [hypothesis.score]
        named = hypothesis.features or [(f"F{i}", score) for i, score in enumerate(scores)]
        features = " ".join(f"{name}= {self.list_number(score)}" for name, score in named)
        total = math.exp(hypothesis.total) if self.probabilities else hypothesis.total
        return f"{features} ||| {self.list_number(total)}"

    def list_number(self, score: float) -> str:
        return c_float(score)


class MarianLayout(CgruLayout):
    """The layout of Marian, which reverses only the words of a right-to-left model."""

    third_has_features: ClassVar[bool] = True

    def scorer_word_number(self, score: float) -> str:
        """A word's score with five decimals, as Marian's decoder prints it."""
        return f"{float32(score):.5f}"

    def in_reading_order(self, hypothesis: Hypothesis) -> Hypothesis:
        """In Marian's own format, scores and alignment remain in the order of decoding."""
        read = hypothesis.reversed()
        if self.format not in (None, "marian"):
            return read
        alignment = hypothesis.alignment
        if self.source_reversed and alignment is not None:
            alignment = np.concatenate([alignment[:, -2::-1], alignment[:, -1:]], axis=1)
        return hypothesis._replace(tokens=read.tokens, alignment=alignment)

    def empty_line(self, number: int, hypothesis: Hypothesis) -> str:
        """All fields for only EOS; in n-best lists, as many hypotheses as for other lines."""
        if self.format not in (None, "marian"):
            return super().empty_line(number, hypothesis)
        ended = hypothesis._replace(
            word_scores=np.zeros(1, np.float32), alignment=np.ones((1, 1), np.float32)
        )
        return self.render(number, [], [ended] * self.beam_size)


@dataclass(frozen=True)  # calls `__post_init__`
class AmunLayout(CgruLayout):
    """The layout of amun: three decimals, and alignments in another order."""

    own_format: ClassVar[str] = "amun"

    def __post_init__(self) -> None:
        if self.format == "nematus" and self.n_best:
            raise UsageError("amun prints no Nematus alignment in n-best lists; use soft")

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """The text, or "" if the header of the alignment has the translation."""
        return "" if self.format == "nematus" else super().entry(number, hypothesis)

    def list_number(self, score: float) -> str:
        return f"{float32(score):.3f}"

    def alignment_field(self, hypothesis: Hypothesis) -> str:
        """The alignment, with a space only before a pair."""
        return super().alignment_field(hypothesis).rstrip(" ")

    def without_hypotheses(self) -> str:
        return "\n"

    def nematus_block(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """Like Nematus, but with the cost divided by the number of rows, and numbers as in C++."""
        weights = weights_of(hypothesis)
        cost = c_float(cost_of(hypothesis.score) / max(1, len(weights)))
        rows = [" ".join(map(C_FLOAT, row)) for row in weights.tolist()]
        return matrix(number, self.text(hypothesis), cost, source, len(weights), rows)


Link = tuple[str, str, str, int, int]


def nematus_links(
    number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis
) -> list[Link]:
    """Nematus' links (target, source, weight, line, line + rank) of a hypothesis."""
    sources, targets = [*source, EOS], [*hypothesis.tokens, EOS]
    return [
        (target, word, numpy_float32(weight), number, number + rank)
        for target, row in zip(targets, weights_of(hypothesis), strict=False)
        for word, weight in zip(sources, row, strict=False)
    ]


class NematusLayout(Layout):
    """The layout of Nematus on Theano."""

    own_format: ClassVar[str] = "nematus"
    json_stands_alone: ClassVar[bool] = False
    shows_factors: ClassVar[bool] = True
    prints_costs: ClassVar[bool] = True
    appends_scores: ClassVar[bool] = True

    @property
    def several_lines(self) -> bool:
        return super().several_lines or (self.word_scores and not self.n_best)

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """The text, then word probabilities, on a new line or as an n-best entry's last field."""
        if not self.word_scores:
            return super().entry(number, hypothesis)
        line = super().entry(number, hypothesis).removesuffix("\n")
        separator = " ||| " if self.n_best else "\n"
        probabilities = (float32(math.exp(score)) for score in hypothesis.word_scores)
        return f"{line}{separator}{' '.join(map(python2_float, probabilities))}\n"

    def empty_line(self, number: int, hypothesis: Hypothesis) -> str:
        """With word probabilities, an empty list of them, so that entries have equal forms."""
        return dataclasses.replace(self, alignment=None).entry(number, hypothesis)

    def fields(self, hypothesis: Hypothesis) -> str:
        """Only the alignment, because the words' probabilities follow the line."""
        return self.alignment_field(hypothesis)

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The cost: float32, but float64 after division by the length."""
        cost = self.nematus_cost(hypothesis)
        return repr(cost) if self.normalize else numpy_float32(cost)

    def scorer_number(self, score: float) -> str:
        return numpy_float32(score)

    def json_block(
        self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis
    ) -> str:
        """A list of `nematus_links`.

        Nematus numbers hypotheses in the order in which they were finished; cgru numbers them in
        the order of the list.
        """
        links = nematus_links(number, rank if self.n_best else 0, source, hypothesis)
        # Python 2 ends lines of an indented list with ", ".
        return json.dumps(links, ensure_ascii=False, indent=2, separators=(", ", ": ")) + "\n"


class NematusTFLayout(Layout):
    """The layout of Nematus on TensorFlow."""

    # Nematus-TF prints no alignments; its users know the format of the Theano version.
    own_format: ClassVar[str] = "nematus"
    prints_costs: ClassVar[bool] = True
    appends_scores: ClassVar[bool] = True

    def text(self, hypothesis: Hypothesis) -> str:
        """The words, joined, with EOS as an empty word."""
        ends = hypothesis.finished and hypothesis.tokens
        return hypothesis.text + (" " if ends else "")

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The score, a log-probability."""
        return numpy_float32(hypothesis.total)

    def scorer_number(self, score: float) -> str:
        return numpy_float32(score)

    def padding(self, number: int, hypotheses: int) -> Iterator[str]:
        """Lines up to the beam size."""
        for _ in range(self.beam_size - hypotheses):
            yield self.entry(number, _PADDING)


class DL4MTLayout(Layout):
    """The layout of DL4MT.

    Lists with `shown` are those of session 3's `-b`. No program of DL4MT prints other lists; here
    they have the values of `gen_sample` as Python writes them.
    """

    prints_costs: ClassVar[bool] = True

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """A line; session 3 writes no spaces around fields, and one cost."""
        if not self.n_best or self.shown is None:
            return super().entry(number, hypothesis)
        cost = cost_of(hypothesis.total)
        written = python2_float(cost if self.normalize else float32(cost))
        return f"{number}|||{self.text(hypothesis)}{self.fields(hypothesis)}|||{written}\n"

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The cost and, with `normalize`, the length-normalised cost."""
        cost = repr(float32(cost_of(hypothesis.score)))
        return f"{cost} ||| {cost_of(hypothesis.total)!r}" if self.normalize else cost

    def scorer_number(self, score: float) -> str:
        return repr(float32(score))


LAYOUTS: dict[str, type[Layout]] = {
    Program.CGRU: CgruLayout,
    Program.MARIAN: MarianLayout,
    Program.AMUN: AmunLayout,
    Program.NEMATUS: NematusLayout,
    Program.NEMATUS_TF: NematusTFLayout,
    Program.DL4MT: DL4MTLayout,
}


def layout_of(program: str = Program.CGRU, **fields: Any) -> Layout:
    """The layout of a program. fields: those of `Layout`."""
    return LAYOUTS[program](**fields)
