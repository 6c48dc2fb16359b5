"""The layouts of Nematus, Nematus-TF and DL4MT, which print costs: negated log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .hypothesis import Hypothesis
from .layout import EOS, Layout, cost_of, weights_of
from .numbers import float32, numpy_float32, python2_float

# What fills Nematus-TF's n-best lists up where fewer hypotheses than the beam were finished.
_PADDING = Hypothesis(tokens=(), finished=True, score=-1e7, total=-1e7)


@dataclass(frozen=True)
class NematusLayout(Layout):
    """The layout of Nematus on Theano."""

    own_format: ClassVar[str] = "nematus"
    json_stands_alone: ClassVar[bool] = False
    prints_costs: ClassVar[bool] = True
    appends_scores: ClassVar[bool] = True

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """Probabilities of the words stand on a line of their own, or last in a list's line."""
        if not self.word_scores:
            return super().entry(number, hypothesis)
        line = super().entry(number, hypothesis).removesuffix("\n")
        separator = " ||| " if self.n_best else "\n"
        return f"{line}{separator}{_probabilities(hypothesis)}\n"

    def fields(self, hypothesis: Hypothesis) -> str:
        """No scores of words: their probabilities stand behind the line."""
        return self.alignment_field(hypothesis)

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The cost: float32, but float64 where its division by the length has made it one."""
        cost = self.nematus_cost(hypothesis)
        return repr(cost) if self.normalize else numpy_float32(cost)

    def scorer_number(self, score: float) -> str:
        """A score as NumPy writes a float32."""
        return numpy_float32(score)

    def json_block(
        self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis
    ) -> str:
        """A list of links (target, source, weight, line, line + hypothesis).

        Nematus counts hypotheses in the order in which they were finished, this in that of the
        list.
        """
        rank = rank if self.n_best else 0
        sources, targets = [*source, EOS], [*hypothesis.tokens, EOS]
        links = [
            (target, word, numpy_float32(weight), number, number + rank)
            for target, row in zip(targets, weights_of(hypothesis), strict=False)
            for word, weight in zip(sources, row, strict=False)
        ]
        # Python 2 ends the lines of an indented list by ", ".
        return json.dumps(links, ensure_ascii=False, indent=2, separators=(", ", ": ")) + "\n"


@dataclass(frozen=True)
class NematusTFLayout(Layout):
    """The layout of Nematus on TensorFlow."""

    # it writes none itself; its users know its predecessor's
    own_format: ClassVar[str] = "nematus"
    prints_costs: ClassVar[bool] = True
    appends_scores: ClassVar[bool] = True

    def text(self, hypothesis: Hypothesis) -> str:
        """The words and EOS joined, which is written as nothing."""
        ends = hypothesis.finished and hypothesis.tokens
        return hypothesis.text + (" " if ends else "")

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The score, here as a log-probability."""
        return numpy_float32(hypothesis.total)

    def scorer_number(self, score: float) -> str:
        """A score as NumPy writes a float32."""
        return numpy_float32(score)

    def padding(self, number: int, hypotheses: int) -> Iterator[str]:
        """As many lines as the beam has places."""
        for _ in range(self.beam_size - hypotheses):
            yield self.entry(number, _PADDING)


@dataclass(frozen=True)
class DL4MTLayout(Layout):
    """That of DL4MT. Lists of so many hypotheses are those of session 3's `-b`; the others, which
    none of its programs print, have the values of `gen_sample` as Python writes them.
    """

    prints_costs: ClassVar[bool] = True

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """Session 3 puts no spaces around fields, and writes one cost."""
        if not self.n_best or self.shown is None:
            return super().entry(number, hypothesis)
        cost = cost_of(hypothesis.total)
        written = python2_float(cost if self.normalize else float32(cost))
        return f"{number}|||{self.text(hypothesis)}{self.fields(hypothesis)}|||{written}\n"

    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The cost and, where that is asked for, the length-normalised one."""
        cost = repr(float32(cost_of(hypothesis.score)))
        return f"{cost} ||| {cost_of(hypothesis.total)!r}" if self.normalize else cost

    def scorer_number(self, score: float) -> str:
        """A score as Python writes a float."""
        return repr(float32(score))


def _probabilities(hypothesis: Hypothesis) -> str:
    probabilities = (float32(math.exp(score)) for score in hypothesis.word_scores)
    return " ".join(map(python2_float, probabilities))
