"""Pairs in, their scores out: the models of `cgru score`, side by side or together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CgruError
from ..options.score import ScoreOptions
from ..output.heatmap.view import MEAN, View, model_names
from ..output.hypothesis import Hypothesis
from ..system.terminal import tell
from .filter import Bounds, dual_cross_entropy
from .layout import ScoreLayout
from .model_scorer import ModelScorer
from .pairs import Pair

if TYPE_CHECKING:
    from ..network.scorer import Scores


@dataclass
class Line:
    """A pair as one model reads it."""

    source: list[str]
    target: list[str]


class PairScorer:
    """Pairs in, their scores as text out; of several models side by side or as an ensemble."""

    def __init__(
        self,
        models: Sequence[ModelScorer],
        weights: Sequence[float],
        layout: ScoreLayout,
        options: ScoreOptions,
        backward: ModelScorer | None = None,
    ):
        """weights: of the ensemble's models; none for a column each. backward: of --dual."""
        self.models, self.weights, self._backward = models, weights, backward
        self._bounds = Bounds(options.keep_above, options.keep_below)
        self._layout, self._alpha = layout, options.normalize or 0.0
        self._alone = not weights
        self.columns = len(models) if self._alone else 1
        self._with_members = bool(options.heatmap) and len(models) > 1
        self._with_mean = bool(weights) and bool(options.heatmap or layout.layout.alignment)
        self._costs = np.zeros(self.columns)  # nats, float64
        self._words = np.zeros(len(self._costs), np.int64)
        self._pairs = self._kept = 0
        reads = [model.reader.model.structure.type.reads_source for model in models]
        self._first = reads.index(True) if any(reads) else 0  # whose source words are shown

    @property
    def max_tokens(self) -> int:
        """Padded words that a batch may have."""
        return min(m.max_tokens for m in (*self.models, self._backward) if m)

    def read(self, pair: Pair, number: int) -> list[Line]:
        """A pair (counted from 0) as each model reads it, the backward one last.

        Raises CgruError where a mean of the models' attention is wanted and they read other words.
        """
        lines = [
            Line(model.source.words(pair.source, number), model.target_words(pair.target, number))
            for model in self.models
        ]
        read = [line.source for line, m in zip(lines, self.models, strict=True) if m.reader.sources]
        if self._with_mean and any(words != read[0] for words in read):
            raise CgruError(
                f"line {number + 1}: the models cut the source into different words, so that "
                "their attention has no mean; score with one after the other"
            )
        if model := self._backward:
            words = model.source.words(pair.target, number)
            lines.append(Line(words, model.target_words(pair.source, number)))
        return lines

    def batch(self, numbers: Sequence[int], lines: Sequence[list[Line]]) -> list[list[Hypothesis]]:
        """Scored translations: of each model, or of all together, then each to be drawn too."""
        columns = [
            _scored(model, numbers, [line[m] for line in lines])
            for m, model in enumerate(self.models)
        ]
        shown = list(enumerate(columns))
        if not self._alone:
            mean = (self._first, _together(columns, self.weights))
            shown = [mean, *shown] if self._with_members else [mean]
        hypotheses = [
            [self._hypothesis(line[m], scores, row) for m, scores in shown]
            for row, line in enumerate(lines)
        ]
        if self._backward:
            scores = _scored(self._backward, numbers, [line[-1] for line in lines])
            for row, (line, forward) in enumerate(zip(lines, hypotheses, strict=True)):
                backward = self._hypothesis(line[-1], scores, row)
                both = dual_cross_entropy(_a_word(forward[0]), _a_word(backward))
                forward[0] = forward[0]._replace(total=both)
        return hypotheses

    def text(self, number: int, line: list[Line], pair: Pair, scored: list[Hypothesis]) -> str:
        """What is printed of a pair."""
        if pair.entry:
            return self._layout.entry(pair.entry, scored)
        if self._bounds.given:
            kept = self._bounds.line(pair, number, self._layout.number(scored[0].total))
            self._kept += bool(kept)
            self._pairs += 1
            return kept
        return self._layout.pair(number, self._surface(self._first, line), scored)

    def views(self, line: list[Line], scored: list[Hypothesis]) -> list[View]:
        """What a heat map shows of a pair: all that `batch` gave of it."""
        names = model_names([str(model.reader.model.path) for model in self.models])
        shown = [(m, name, (1.0,)) for m, name in enumerate(names)]
        if not self._alone:
            together = MEAN if len(names) > 1 else names[0]
            shown = [(self._first, together, self.weights), *(shown if self._with_members else ())]
        return [
            View.of(
                name, self._surface(m, line), hypothesis,
                right_left=self.models[m].reader.model.settings.right_left, model_weights=weights,
            )
            for (m, name, weights), hypothesis in zip(shown, scored, strict=True)
        ]  # fmt: skip

    def _surface(self, m: int, line: list[Line]) -> list[str]:
        """The source as model m reads it, without factors."""
        has_factors = len(self.models[m].reader.sources) > 1
        return [w.split("|")[0] for w in line[m].source] if has_factors else line[m].source

    def report(self, quiet: bool) -> None:
        """Say how many pairs were kept, where not all are."""
        if self._bounds.given:
            tell(f"{self._kept:,} of {self._pairs:,} pairs kept", quiet)

    def add(self, scored: Sequence[Hypothesis]) -> None:
        """Count a pair for the summary."""
        self._costs -= [hypothesis.score for hypothesis in scored]
        self._words += [len(hypothesis.tokens) + 1 for hypothesis in scored]
        self._pairs += 1

    def summary(self, kind: str) -> str:
        """One number a column. Raises CgruError where there are no pairs to take a mean of."""
        if not self._pairs and kind != "ce-sum":
            raise CgruError("no pairs: there is no mean of their scores")
        return " ".join(
            f"{_summarised(kind, cost, self._pairs, words):.6f}"
            for cost, words in zip(self._costs, self._words, strict=True)
        )

    def _hypothesis(self, line: Line, scores: Scores, row: int) -> Hypothesis:
        length = len(line.target) + 1
        words = scores.log_probs[row, :length]
        score = float(np.sum(words, dtype=np.float64))
        alignment = scores.alignment
        if alignment is not None:
            alignment = alignment[row, :length, : len(line.source) + 1]
        return Hypothesis(
            line.target,
            True,
            score,
            score / length**self._alpha,
            words.tolist(),
            (score,),
            alignment,
        )


def _scored(model: ModelScorer, numbers: Sequence[int], lines: Sequence[Line]) -> Scores:
    return model(numbers, [line.source for line in lines], [line.target for line in lines])


def _a_word(hypothesis: Hypothesis) -> float:
    """Cross-entropy, nats a word, EOS counted."""
    return -hypothesis.score / (len(hypothesis.tokens) + 1)


def _together(columns: Sequence[Scores], weights: Sequence[float]) -> Scores:
    """An ensemble's scores: weighted sums of log-probabilities, the mean of the attentions."""
    log_probs = sum(w * scores.log_probs for w, scores in zip(weights, columns, strict=True))
    found = [scores.alignment for scores in columns if scores.alignment is not None]
    alignment = np.mean(found, axis=0, dtype=np.float32) if found else None
    return columns[0]._replace(log_probs=log_probs, alignment=alignment)


def _summarised(kind: str, cost: float, pairs: int, words: int) -> float:
    if kind == "ce-sum":
        return cost
    if kind in ("ce-mean", "cross-entropy"):
        return cost / pairs
    mean = cost / words
    return mean if kind == "ce-mean-words" else math.exp(mean) if mean < 700 else math.inf
