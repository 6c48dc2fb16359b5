"""The layout of hypotheses as text: the part that the layouts of all programs share.

`cgru translate` prints in the layout of the program that is stood in for (`layouts`). Sources:
Nematus-Theano `translate.py`, Nematus-TF `translate_utils.py`, DL4MT session 1 and 2
`translate.py`, Marian `output_printer.{h,cpp}` and `alignment.cpp`, amun `printer.{h,cpp}`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import UsageError
from .hypothesis import Hypothesis
from .numbers import C_FLOAT, float32, numpy_float32, python2_float

Alignment = str | float  # hard, soft, or a threshold
FORMATS = ("marian", "amun", "nematus", "json")  # of alignments

EOS = "</s>"  # as Nematus writes it into its JSON, whatever the vocabulary calls it


@dataclass(frozen=True)
class Layout(ABC):
    """The layout of one input line's hypotheses; a class for each program.

    n_best: all hypotheses, or as many as are to be `shown`, else the first. word_scores: Marian's
    `WordScores=` field
    (log-probabilities), under Nematus its probabilities. alignment: None, "hard", "soft", or the
    weight above which a pair is shown (0 to 1; at 1 as "hard", like Marian). alignment_format: None
    is the program's own; "nematus" and "json" always show every weight. right_left: the model
    writes from right to left; source_reversed: it reads so, too. beam_size: what Nematus-TF's lists
    are padded to. normalize: whether `total` is length-normalised: Nematus prints such costs as
    float64, others as float32; DL4MT's lists get a column more. probabilities: cgru's n-best lists
    end with exp(total).

    Raises UsageError for a value that no layout has.
    """

    n_best: bool = False
    word_scores: bool = False
    alignment: Alignment | None = None
    alignment_format: str | None = None
    right_left: bool = False
    source_reversed: bool = False
    beam_size: int = 1
    normalize: bool = False
    shown: int | None = None
    probabilities: bool = False

    own_format: ClassVar[str] = "marian"
    json_stands_alone: ClassVar[bool] = True  # for the hypothesis, else it follows the text
    prints_costs: ClassVar[bool] = False  # negative log-probabilities
    appends_scores: ClassVar[bool] = False  # to the lines of an n-best list; else adds features

    def __post_init__(self) -> None:
        if self.alignment_format not in (None, *FORMATS):
            raise UsageError(
                f"no alignment format {self.alignment_format!r}; there are {', '.join(FORMATS)}"
            )
        if isinstance(self.alignment, str):
            is_known = self.alignment in ("hard", "soft")
        else:
            is_known = self.alignment is None or 0 < self.alignment <= 1
        if not is_known:
            raise UsageError(
                f"alignment {self.alignment}: must be hard, soft or a threshold"
                " above 0 and at most 1"
            )

    # -- what a program has of its own -------------------------------------------------------------

    @abstractmethod
    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The last fields of an n-best list's line, after text, alignment and word scores."""

    def scorer_number(self, score: float) -> str:
        """A score, in nats, as the program's scorer prints it."""
        return f"{float32(score):.6f}"

    def text(self, hypothesis: Hypothesis) -> str:
        """The translation."""
        return hypothesis.text

    def fields(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT ||| WordScores= ..`, as far as they are wanted inside the line."""
        fields = self.alignment_field(hypothesis)
        if self.word_scores:
            scores = "".join(f" {float32(score):.5f}" for score in hypothesis.word_scores)
            fields += f" ||| WordScores={scores}"
        return fields

    def alignment_field(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT`, if it is wanted inside the line."""
        if self.format in ("marian", "amun"):
            return f" ||| {self.inline_alignment(hypothesis)}"
        return ""

    def without_hypotheses(self) -> str:
        """The output for a line without hypotheses."""
        return "" if self.n_best else "\n"

    def padding(self, number: int, hypotheses: int) -> Iterator[str]:
        """Lines, each ended, of an n-best list behind those of a line's hypotheses."""
        yield from ()

    def in_reading_order(self, hypothesis: Hypothesis) -> Hypothesis:
        """A right-to-left model's hypothesis in the order in which it is printed."""
        return hypothesis.reversed()

    # -- what all share ----------------------------------------------------------------------------

    def render(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> str:
        """All text of one input line (counted from 0), best hypothesis first, each line ended.

        Alignments in the "nematus" format follow their hypothesis; in "json" format one object
        per line stands for the hypothesis (but under Nematus, its own JSON follows the text).
        Without hypotheses: an empty line, in n-best lists nothing (Nematus-TF: padding).
        """
        entries = list(self._entries(line_number, source, hypotheses))
        if self.format == "json" and self.json_stands_alone and entries:
            entries = [("", block) for _, block in entries]
        return "".join(text + block for text, block in entries) or self.without_hypotheses()

    def render_apart(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> tuple[str, str]:
        """Text and alignments apart, for alignments in a file of their own; otherwise as `render`.

        The second is "" in the formats that stand inside the text's lines.
        """
        entries = list(self._entries(line_number, source, hypotheses))
        text = "".join(text for text, _ in entries)
        blocks = "".join(block for _, block in entries)
        return text or ("" if blocks else self.without_hypotheses()), blocks

    @property
    def format(self) -> str | None:
        """The format of alignments; None where none are printed."""
        return None if self.alignment is None else self.alignment_format or self.own_format

    def _entries(
        self, number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> Iterator[tuple[str, str]]:
        """(line or lines of text, alignment block or "") of each hypothesis that is shown."""
        shown = hypotheses[: self.shown] if self.n_best else hypotheses[:1]
        for rank, hypothesis in enumerate(shown):
            hypothesis = self.as_read(hypothesis)
            block = self.block(number, rank, source, hypothesis)
            yield self.entry(number, hypothesis), block
        if self.n_best:
            for line in self.padding(number, len(hypotheses)):
                yield line, ""

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """A hypothesis without its block: the best one, or a line of an n-best list."""
        line = f"{self.text(hypothesis)}{self.fields(hypothesis)}"
        if self.n_best:
            return f"{number} ||| {line} ||| {self.list_fields(hypothesis)}\n"
        return f"{line}\n"

    def as_read(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis in the order in which it is printed, whichever way its model writes."""
        return self.in_reading_order(hypothesis) if self.right_left else hypothesis

    def signed(self, score: float) -> float:
        """A log-probability, or the cost that the program prints."""
        return cost_of(score) if self.prints_costs else score

    def inline_alignment(self, hypothesis: Hypothesis) -> str:
        """The alignment in the formats that stand inside a line."""
        weights = weights_of(hypothesis)
        if self.format == "amun":
            # amun leaves the last row out: EOS's, and also a cut hypothesis's last word.
            weights = weights[:-1]
        if self.alignment == "soft":
            return " ".join(",".join(map(C_FLOAT, row)) for row in weights.tolist())
        if not weights.size:
            return ""
        if self.alignment in ("hard", 1):
            pairs = list(enumerate(weights.argmax(axis=1).tolist()))  # ties: the first, as Marian
        else:
            above = np.argwhere(weights > np.float32(self.alignment or 0))
            pairs = [(int(t), int(s)) for t, s in above]
        if self.format == "amun":
            return " ".join(f"{t}-{s}" for t, s in pairs)
        return " ".join(f"{s}-{t}" for s, t in sorted((s, t) for t, s in pairs))

    def block(self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """The alignment in the formats that have lines of their own; "" in others."""
        if self.format == "nematus":
            return self.nematus_block(number, source, hypothesis)
        if self.format == "json":
            return self.json_block(number, rank, source, hypothesis)
        return ""

    def nematus_block(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """Nematus' header and matrix: a row a target word, a column a source word, EOS counted."""
        length = len(hypothesis.tokens) + 1  # also of a hypothesis without EOS
        cost = python2_float(self.nematus_cost(hypothesis))
        rows = [" ".join(map(numpy_float32, row)) for row in weights_of(hypothesis)]
        return matrix(number, " ".join(hypothesis.tokens), cost, source, length, rows)

    def nematus_cost(self, hypothesis: Hypothesis) -> float:
        """The cost by which hypotheses are ranked; length-normalised ones became float64."""
        cost = cost_of(hypothesis.total)
        return cost if self.normalize else float32(cost)

    def json_block(
        self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis
    ) -> str:
        """An object on a line, with all that is known of a hypothesis."""
        values = {
            "id": number,
            "text": self.text(hypothesis),
            "source": [*source, EOS],
            "target": [*hypothesis.tokens, *([EOS] if hypothesis.finished else [])],
            # The fewest digits that give the float32 back.
            "alignment": [[float(str(weight)) for weight in row] for row in weights_of(hypothesis)],
            "score": float(hypothesis.score),
            "total": float(hypothesis.total),
        }
        if self.word_scores:
            values["word_scores"] = list(map(float, hypothesis.word_scores))
        return json.dumps(values, ensure_ascii=False) + "\n"


def matrix(
    number: int, target: str, cost: str, source: Sequence[str], length: int, rows: Sequence[str]
) -> str:
    """A matrix of attention as Nematus and amun print it: a header, the rows, an empty line."""
    sizes = f"{len(source) + 1} {length}"
    header = f"{number} ||| {target} ||| {cost} ||| {' '.join(source)} ||| {sizes}"
    return "\n".join([header, *(rows or [""])]) + "\n\n"


def weights_of(hypothesis: Hypothesis) -> np.ndarray:
    """The alignment, float32: [rows, S + 1]; one that an empty hypothesis lacks has no rows."""
    if hypothesis.alignment is None:
        if hypothesis.tokens:
            raise ValueError("a hypothesis without the alignment that is to be printed")
        return np.zeros((0, 0), np.float32)
    return np.asarray(hypothesis.alignment, np.float32)


def cost_of(score: float) -> float:
    """The cost -log p of a score log p."""
    return 0.0 - float(score)  # not -score, which makes -0.0 of 0.0
