"""What `cgru translate` prints: hypotheses in the layout of the program that is stood in for.

Sources: Nematus-Theano `translate.py`, Nematus-TF `translate_utils.py`, DL4MT session 1 and 2
`translate.py`, Marian `output_printer.{h,cpp}` and `alignment.cpp`, amun `printer.{h,cpp}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..errors import UsageError
from ..options import kinds
from .hypothesis import Hypothesis
from .numbers import C_FLOAT, amun_float, c_float, float32, numpy_float32, python2_float

Program = Literal["cgru", "nematus", "nematus-tf", "dl4mt", "marian", "amun"]
AlignmentFormat = Literal["marian", "amun", "nematus", "json"]

_EOS = "</s>"  # as Nematus writes it into its JSON, whatever the vocabulary calls it
_DEFAULT_FORMAT: dict[Program, AlignmentFormat] = {
    "amun": "amun",
    "nematus": "nematus",
    "nematus-tf": "nematus",  # it writes none itself; its users know its predecessor's
}


# What fills Nematus-TF's n-best lists up where fewer hypotheses than the beam were finished.
_PADDING = Hypothesis(tokens=(), finished=True, score=-1e7, total=-1e7)


@dataclass(frozen=True)
class Layout:
    """How one input line's hypotheses become text.

    program: whose layout; "cgru" is Marian's, and where Marian reverses the words of a
    right-to-left model but not their scores and alignment, "cgru" reverses all.
    n_best: all hypotheses, else the first. word_scores: Marian's `WordScores=` field
    (log-probabilities), under "nematus" its probabilities.
    alignment: None, "hard", "soft", or the weight above which a pair is shown (0 to 1; at 1 as
    "hard", like Marian). alignment_format None is the program's own; "nematus" and "json" always
    show every weight.
    right_left: the model writes from right to left. beam_size: what Nematus-TF's lists are padded
    to. normalize: whether `total` is length-normalised: Nematus prints such costs as float64,
    others as float32; DL4MT's lists get a column more.

    Raises UsageError for a value that no layout has.
    """

    program: Program = "cgru"
    n_best: bool = False
    word_scores: bool = False
    alignment: Literal["hard", "soft"] | float | None = None
    alignment_format: AlignmentFormat | None = None
    right_left: bool = False
    beam_size: int = 1
    normalize: bool = False

    def __post_init__(self) -> None:
        if self.program not in get_args(Program):
            raise UsageError(f"no output layout {self.program!r}; there are {_listed(Program)}")
        if self.alignment_format not in (None, *get_args(AlignmentFormat)):
            known = _listed(AlignmentFormat)
            raise UsageError(f"no alignment format {self.alignment_format!r}; there are {known}")
        if isinstance(self.alignment, str):
            known = self.alignment in ("hard", "soft")
        else:
            known = self.alignment is None or 0 < self.alignment <= 1
        if not known:
            raise UsageError(
                f"alignment {self.alignment}: must be hard, soft or a threshold"
                " above 0 and at most 1"
            )
        if self.program == "amun" and self.format == "nematus" and self.n_best:
            raise UsageError("amun prints no Nematus alignment in n-best lists; ask for soft")

    def render(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> str:
        """All text of one input line (counted from 0), best hypothesis first, each line ended.

        Alignments in the "nematus" format follow their hypothesis; in "json" format one object
        per line stands for the hypothesis (but under "nematus", its own JSON follows the text).
        Without hypotheses: an empty line, in n-best lists nothing (Nematus-TF: padding).
        """
        entries = list(self._entries(line_number, source, hypotheses))
        if self.format == "json" and self.program != "nematus" and entries:
            entries = [("", block) for _, block in entries]
        return "".join(text + block for text, block in entries) or self._nothing()

    def render_apart(
        self, line_number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> tuple[str, str]:
        """As `render`, but (text, alignments), for alignments in a file of their own.

        The second is "" in the formats that stand inside the text's lines.
        """
        entries = list(self._entries(line_number, source, hypotheses))
        text = "".join(text for text, _ in entries)
        blocks = "".join(block for _, block in entries)
        return text or ("" if blocks else self._nothing()), blocks

    @property
    def format(self) -> AlignmentFormat | None:
        """Of the alignments, None where there are none."""
        if self.alignment is None:
            return None
        return self.alignment_format or _DEFAULT_FORMAT.get(self.program, "marian")

    def _nothing(self) -> str:
        return "" if self.n_best and self.program != "amun" else "\n"

    def _entries(
        self, number: int, source: Sequence[str], hypotheses: Sequence[Hypothesis]
    ) -> Iterator[tuple[str, str]]:
        """(line or lines of text, alignment block or "") of each hypothesis that is shown."""
        line = self._n_best_line if self.n_best else self._best_line
        shown = hypotheses if self.n_best else hypotheses[:1]
        for rank, hypothesis in enumerate(shown):
            if self.right_left:
                hypothesis = self.in_reading_order(hypothesis)
            text = line(number, hypothesis) + "\n"
            block = self.block(number, rank, source, hypothesis)
            if self.program == "amun" and self.format == "nematus":
                text = ""  # its header holds the translation
            yield text, block
        if self.n_best and self.program == "nematus-tf":
            for _ in range(self.beam_size - len(hypotheses)):
                yield line(number, _PADDING) + "\n", ""

    def in_reading_order(self, hypothesis: Hypothesis) -> Hypothesis:
        """What a right-to-left model wrote, as it is read."""
        turned = hypothesis.reversed()
        if self.program == "marian":  # leaves scores and alignment as they were decoded
            return hypothesis._replace(tokens=turned.tokens)
        return turned

    def _best_line(self, number: int, hypothesis: Hypothesis) -> str:
        line = self._text(hypothesis) + self._fields(hypothesis)
        if self.program == "nematus" and self.word_scores:
            line += f"\n{_probabilities(hypothesis)}"
        return line

    def _n_best_line(self, number: int, hypothesis: Hypothesis) -> str:
        line = f"{number} ||| {self._text(hypothesis)}{self._fields(hypothesis)} ||| "
        if self.program == "nematus":
            cost = self._nematus_cost(hypothesis)
            # Length-normalised costs became float64 by their division.
            line += repr(cost) if self.normalize else numpy_float32(cost)
            return f"{line} ||| {_probabilities(hypothesis)}" if self.word_scores else line
        if self.program == "nematus-tf":
            return line + numpy_float32(hypothesis.total)
        if self.program == "dl4mt":
            # DL4MT itself prints no lists; these are gen_sample's values as Python writes them.
            line += repr(float32(cost_of(hypothesis.score)))
            return f"{line} ||| {cost_of(hypothesis.total)!r}" if self.normalize else line
        write = amun_float if self.program == "amun" else c_float
        scores = hypothesis.model_scores or [hypothesis.score]
        features = " ".join(f"F{i}= {write(score)}" for i, score in enumerate(scores))
        return f"{line}{features} ||| {write(hypothesis.total)}"

    def _nematus_cost(self, hypothesis: Hypothesis) -> float:
        cost = cost_of(hypothesis.total)
        return cost if self.normalize else float32(cost)

    def _text(self, hypothesis: Hypothesis) -> str:
        text = hypothesis.text
        # Nematus-TF joins the words and EOS, which it writes as nothing.
        if self.program == "nematus-tf" and hypothesis.finished and hypothesis.tokens:
            text += " "
        return text

    def _fields(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT ||| WordScores= ..`, as far as they are wanted inside the line."""
        fields = ""
        if self.format in ("marian", "amun"):
            fields = f" ||| {self.inline_alignment(hypothesis)}"
            if self.program == "amun":  # which writes every space in front of a pair
                fields = fields.rstrip(" ")
        if self.word_scores and self.program != "nematus":
            scores = "".join(f" {float32(score):.5f}" for score in hypothesis.word_scores)
            fields += f" ||| WordScores={scores}"
        return fields

    def inline_alignment(self, hypothesis: Hypothesis) -> str:
        """The alignment in the formats that stand inside a line."""
        weights = _weights(hypothesis)
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
            pairs = np.argwhere(weights > np.float32(self.alignment)).tolist()
        if self.format == "amun":
            return " ".join(f"{t}-{s}" for t, s in pairs)
        return " ".join(f"{s}-{t}" for s, t in sorted((s, t) for t, s in pairs))

    def block(self, number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        """The alignment in the formats that have lines of their own; "" in others."""
        if self.format == "nematus":
            return self._nematus_block(number, source, hypothesis)
        if self.format == "json":
            if self.program == "nematus":
                return _nematus_json(number, rank if self.n_best else 0, source, hypothesis)
            return self._json(number, source, hypothesis)
        return ""

    def _nematus_block(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        weights = _weights(hypothesis)
        if self.program == "amun":  # a cost per row whatever the normalisation, C++'s digits
            target = self._text(hypothesis)
            cost = c_float(cost_of(hypothesis.score) / max(1, len(weights)))
            length = len(weights)
            rows = [" ".join(map(C_FLOAT, row)) for row in weights.tolist()]
        else:
            target = " ".join(hypothesis.tokens)
            cost = python2_float(self._nematus_cost(hypothesis))
            length = len(hypothesis.tokens) + 1  # also of a hypothesis without EOS
            rows = [" ".join(map(numpy_float32, row)) for row in weights]
        sizes = f"{len(source) + 1} {length}"
        header = f"{number} ||| {target} ||| {cost} ||| {' '.join(source)} ||| {sizes}"
        return "\n".join([header, *(rows or [""])]) + "\n\n"

    def _json(self, number: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
        values = {
            "id": number,
            "text": self._text(hypothesis),
            "source": [*source, _EOS],
            "target": [*hypothesis.tokens, *([_EOS] if hypothesis.finished else [])],
            # The fewest digits that give the float32 back.
            "alignment": [[float(str(weight)) for weight in row] for row in _weights(hypothesis)],
            "score": float(hypothesis.score),
            "total": float(hypothesis.total),
        }
        if self.word_scores:
            values["word_scores"] = list(map(float, hypothesis.word_scores))
        return json.dumps(values, ensure_ascii=False) + "\n"


def _nematus_json(number: int, rank: int, source: Sequence[str], hypothesis: Hypothesis) -> str:
    """Nematus-Theano's list of links (target, source, weight, line, line + hypothesis).

    Nematus counts hypotheses in the order in which they were finished, this in that of the list.
    """
    sources, targets = [*source, _EOS], [*hypothesis.tokens, _EOS]
    links = [
        (target, word, numpy_float32(weight), number, number + rank)
        for target, row in zip(targets, _weights(hypothesis), strict=False)
        for word, weight in zip(sources, row, strict=False)
    ]
    # Python 2 ends the lines of an indented list by ", ".
    return json.dumps(links, ensure_ascii=False, indent=2, separators=(", ", ": ")) + "\n"


def _weights(hypothesis: Hypothesis) -> np.ndarray:
    """The alignment, float32: [rows, S + 1]; one that an empty hypothesis lacks has no rows."""
    if hypothesis.alignment is None:
        if hypothesis.tokens:
            raise ValueError("a hypothesis without the alignment that is to be printed")
        return np.zeros((0, 0), np.float32)
    return np.asarray(hypothesis.alignment, np.float32)


def _probabilities(hypothesis: Hypothesis) -> str:
    probabilities = (float32(math.exp(score)) for score in hypothesis.word_scores)
    return " ".join(map(python2_float, probabilities))


def cost_of(score: float) -> float:
    """-log p of log p."""
    return 0.0 - float(score)  # not -score, which makes -0.0 of 0.0


def _listed(choices: object) -> str:
    return ", ".join(get_args(choices))


def alignment_of(asked: str | None) -> str | float | None:
    """What --alignment means."""
    return None if asked is None else kinds.alignment(asked)
