"""Format hypotheses as text: the part that all programs' layouts share.

`cgru translate` prints in the layout of the program that `--compat` names (`layouts`). Sources:
Nematus-Theano `translate.py`, Nematus-TF `translate_utils.py`, DL4MT session 1 and 2
`translate.py`, Marian `output_printer.{h,cpp}` and `alignment.cpp`, amun `printer.{h,cpp}`.
"""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..text.vocabulary import EOS
from .hypothesis import Hypothesis

Alignment = str | float  # hard, soft, or a threshold
C_FLOAT = "{:g}".format  # of a float32 as a Python float


@dataclass(frozen=True)
class Layout(ABC):
    """The layout of one input line's hypotheses; each program has a subclass.

    n_best: print all hypotheses, or the first `shown`, instead of one. word_scores: print Marian's
    `WordScores=` field (log-probabilities); for Nematus, the words' probabilities. alignment: None,
    "hard", "soft", or the weight above which pairs are printed (0 to 1; 1 means "hard", as in
    Marian). alignment_format: None for the program's own; "nematus" and "json" always print every
    weight. right_left: whether the model writes from right to left; source_reversed: whether it
    also reads from right to left. beam_size: the length to which Nematus-TF pads lists. normalize:
    whether `total` is length-normalised: Nematus prints normalised costs as float64, other costs as
    float32, and DL4MT's lists have one more column. probabilities: whether cgru's n-best lists end
    with exp(total).
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
    json_stands_alone: ClassVar[bool] = True  # whether JSON replaces the text or follows it
    shows_factors: ClassVar[bool] = False  # of source words, in alignments
    prints_costs: ClassVar[bool] = False  # costs are negative log-probabilities
    appends_scores: ClassVar[bool] = False  # to lines of n-best lists, instead of adding features
    third_has_features: ClassVar[bool] = False  # adds features to the third field in any case

    # -- different between programs ------------------------------------------------------------

    @abstractmethod
    def list_fields(self, hypothesis: Hypothesis) -> str:
        """The last fields of a line of an n-best list, after text, alignment and word scores."""

    def scorer_number(self, score: float) -> str:
        """A score, in nats, as the program's scorer prints it."""
        return f"{float32(score):.6f}"

    def scorer_word_number(self, score: float) -> str:
        """The score of a word as the program's scorer prints it."""
        return c_float(score)

    def text(self, hypothesis: Hypothesis) -> str:
        """The translation."""
        return hypothesis.text

    def fields(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT ||| WordScores= ..`, as far as the line includes them."""
        fields = self.alignment_field(hypothesis)
        if self.word_scores:
            scores = "".join(f" {float32(score):.5f}" for score in hypothesis.word_scores)
            fields += f" ||| WordScores={scores}"
        return fields

    def alignment_field(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT`, if the line includes it."""
        if self.format in ("marian", "amun"):
            return f" ||| {self.inline_alignment(hypothesis)}"
        return ""

    def without_hypotheses(self) -> str:
        """The output for a line without hypotheses."""
        return "" if self.n_best else "\n"

    def empty_line(self, number: int, hypothesis: Hypothesis) -> str:
        """The output for a source line without words: its marks, or a line of an n-best list."""
        if not self.n_best:
            return f"{hypothesis.text}\n"
        bare = dataclasses.replace(self, alignment=None, word_scores=False)
        return bare.render(number, [], [hypothesis])

    def padding(self, number: int, hypotheses: int) -> Iterator[str]:
        """Lines of an n-best list after all hypotheses, each with its newline."""
        yield from ()

    def in_reading_order(self, hypothesis: Hypothesis) -> Hypothesis:
        """A right-to-left model's hypothesis in the order of the output."""
        return hypothesis.reversed()

    # -- the same for all programs ----------------------------------------------------------------

    def render(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> str:
        """The output for one input line (counted from 0), best hypothesis first.

        Alignments in the "nematus" format follow their hypothesis; in the "json" format, an object
        on a line replaces the hypothesis (but Nematus' own JSON follows it). Without hypotheses,
        returns an empty line, or nothing in n-best lists (in Nematus-TF, padding).
        """
        entries = list(self._entries(line_number, source, hypotheses))
        if self.writes_objects and entries:
            entries = [("", block) for _, block in entries]
        return "".join(text + block for text, block in entries) or self.without_hypotheses()

    def render_apart(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> tuple[str, str]:
        """Like `render`, but returns text and alignments separately, for a file of alignments.

        The second text is "" for formats inside the line.
        """
        entries = list(self._entries(line_number, source, hypotheses))
        text = "".join(text for text, _ in entries)
        blocks = "".join(block for _, block in entries)
        return text or ("" if blocks else self.without_hypotheses()), blocks

    @property
    def format(self) -> str | None:
        """The format of alignments; None if no alignments are printed."""
        return None if self.alignment is None else self.alignment_format or self.own_format

    @property
    def several_lines(self) -> bool:
        """Whether a translation takes several lines."""
        return self.format == "nematus"

    @property
    def writes_objects(self) -> bool:
        """Whether JSON objects replace the text of translations."""
        return self.format == "json" and self.json_stands_alone

    def _entries(
        self, number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> Iterator[tuple[str, str]]:
        """For each hypothesis to print: its line or lines of text, its alignment block or ""."""
        shown = hypotheses[: self.shown] if self.n_best else hypotheses[:1]
        for rank, hypothesis in enumerate(shown):
            hypothesis = self.as_read(hypothesis)
            block = self.block(number, rank, source, hypothesis)
            yield self.entry(number, hypothesis), block
        if self.n_best:
            for line in self.padding(number, len(hypotheses)):
                yield line, ""

    def entry(self, number: int, hypothesis: Hypothesis) -> str:
        """The text of a hypothesis, without its block: a line, or a line of an n-best list."""
        line = f"{self.text(hypothesis)}{self.fields(hypothesis)}"
        if self.n_best:
            return f"{number} ||| {line} ||| {self.list_fields(hypothesis)}\n"
        return f"{line}\n"

    def as_read(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis in the order of the output, whatever the model's direction."""
        return self.in_reading_order(hypothesis) if self.right_left else hypothesis

    def signed(self, score: float) -> float:
        """The log-probability, or the cost if the program prints costs."""
        return cost_of(score) if self.prints_costs else score

    def inline_alignment(self, hypothesis: Hypothesis) -> str:
        """The alignment, in a format inside the line."""
        weights = weights_of(hypothesis)
        if self.format == "amun":
            # amun omits the last row: EOS, but also the last word of a cut hypothesis.
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
        """The alignment in a format with separate lines; "" for other formats."""
        if self.format == "nematus":
            return self.nematus_block(number, source, hypothesis)
        if self.format == "json":
            return self.json_block(number, rank, source, hypothesis)
        return ""

    def nematus_block(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """Nematus' header and matrix: rows of target words, columns of source words, with EOS."""
        length = len(hypothesis.tokens) + 1  # even if the hypothesis has no EOS
        cost = python2_float(self.nematus_cost(hypothesis))
        rows = [" ".join(map(numpy_float32, row)) for row in weights_of(hypothesis)]
        return matrix(number, " ".join(hypothesis.tokens), cost, source, length, rows)

    def nematus_cost(self, hypothesis: Hypothesis) -> float:
        """The cost that ranks hypotheses; a length-normalised cost is a float64."""
        cost = cost_of(hypothesis.total)
        return cost if self.normalize else float32(cost)

    def json_block(
        self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis
    ) -> str:
        """A JSON object on a line, with all fields of a hypothesis."""
        values = {
            "id": number,
            "text": self.text(hypothesis),
            "source": [*source, EOS],
            "target": [*hypothesis.tokens, *([EOS] if hypothesis.finished else [])],
            # the fewest digits that identify the float32
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
    """The alignment, float32: [rows, S + 1]; without rows if an empty hypothesis has none."""
    if hypothesis.alignment is None:
        if hypothesis.tokens:
            raise ValueError("the hypothesis has no alignment to print")
        return np.zeros((0, 0), np.float32)
    return np.asarray(hypothesis.alignment, np.float32)


def cost_of(score: float) -> float:
    """The cost -log p of a score log p."""
    return 0.0 - float(score)  # -score would turn 0.0 into -0.0


def float32(value: float) -> float:
    return float(np.float32(value))


def c_float(value: float) -> str:
    """A float as C++'s ostream writes it: 6 significant digits."""
    return C_FLOAT(float32(value))


def numpy_float32(value: float) -> str:
    """A float32 as NumPy 1 writes it: the fewest digits that identify it, exponents from 1e16."""
    return repr(float(str(np.float32(value))))  # NumPy 2 writes smaller numbers with exponents


def python2_float(value: float) -> str:
    """A float as Python 2 writes it: 12 significant digits, and `.0` after a whole number."""
    text = f"{value:.12g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text
