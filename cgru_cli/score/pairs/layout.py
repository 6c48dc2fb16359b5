"""Format scores of known translations in the layout of a program's scorer.

Sources: Nematus-TF `score.py` and `rescore.py`, DL4MT session 2 `nmt.py`, Marian
`score_collector.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import CgruError, UsageError
from ...output.hypothesis import Hypothesis
from ...output.layout import Layout, c_float
from ...system.lines import tokens
from ..n_best.entry import SEPARATOR, end_of_names, place_of, split


@dataclass(frozen=True)
class ScoreLayout:
    """The layout of a pair's scores as text, with a column for each model.

    layout: prints signs, alignments and words as `cgru translate` does. feature: the name of the
    scores in an n-best list. digits: print six significant digits instead of six decimals, for
    probabilities. with_target: print each translation before its scores, like Nematus' --verbose.

    Raises UsageError for words and alignments of several models, because each model has its own
    words.
    """

    layout: Layout
    models: int
    feature: str = "Score"
    digits: bool = False
    with_target: bool = False

    def __post_init__(self) -> None:
        if self.models > 1 and (self.layout.word_scores or self.layout.alignment is not None):
            raise UsageError(
                "--word-scores and --alignment need one model; add --ensemble, or score with "
                "each model separately"
            )

    def pair(self, number: int, scored: Sequence[Hypothesis], target: str = "") -> str:
        """The text of one pair's scores by each model; number: of the pair, from 0.

        target: the translation as given.
        """
        layout, first = self.layout, self.layout.as_read(scored[0])
        block = layout.block(number, 0, first.source, first)
        if layout.writes_objects:
            return block
        line = " ".join(self.number(hypothesis.total) for hypothesis in scored)
        before = f"{target.strip()} " if self.with_target else ""
        return f"{before}{line}{self._fields(first)}\n{block}"

    def entry(self, entry: str, scored: Sequence[Hypothesis]) -> str:
        """A line of an n-best list with the scores added.

        Nematus appends the scores to the line. Marian adds features to the third field, with the
        alignment and word scores before it; otherwise they are added to the field of features, also
        after the alignment and word scores of the list. A line without features gets a new field.
        Raises CgruError for a line of another format, and for one that has the feature already,
        which Marian would repeat.
        """
        if self.layout.appends_scores:
            entry = entry.strip()
            return f"{entry} {' '.join(self.number(one.total) for one in scored)}\n"
        separator = SEPARATOR if SEPARATOR in entry else SEPARATOR.strip()
        _, fields = split(entry)
        words = [*map(tokens, fields)]
        place = place_of(words)
        listed = words[place] if place < len(words) else []
        end = end_of_names(listed)
        if self.layout.third_has_features:
            place, end, listed = min(2, len(fields)), "=", []
        numbers = range(len(scored)) if len(scored) > 1 else [""]
        names = [f"{self.feature}{i}{end or '='}" for i in numbers]
        for name in names:
            if name in listed:
                raise CgruError(
                    f"the list already has a feature {name[:-1]}; name the new one with "
                    "--n-best-feature"
                )
        signed = [c_float(self.layout.signed(one.total)) for one in scored]
        added = [f"{name} {score}" for name, score in zip(names, signed, strict=True)]
        features = " ".join([*(one.strip(" ") for one in fields[place : place + 1]), *added])
        more = self._fields(self.layout.as_read(scored[0])).split(SEPARATOR)[1:]
        line = [*fields[:place], *more, features, *fields[place + 1 :]]
        return separator.join(line) + (" \n" if place + 1 >= len(fields) else "\n")  # as Marian

    def _fields(self, hypothesis: Hypothesis) -> str:
        """` ||| ALIGNMENT ||| WordScores= ..`, as far as the line includes them."""
        fields = self.layout.alignment_field(hypothesis)
        if self.layout.word_scores:
            signed = map(self.layout.signed, hypothesis.word_scores)
            fields += f" ||| WordScores= {' '.join(map(self.layout.scorer_word_number, signed))}"
        return fields

    def number(self, score: float) -> str:
        """A score as the program prints it."""
        if self.digits:
            return c_float(score)
        return self.layout.scorer_number(self.layout.signed(score))
