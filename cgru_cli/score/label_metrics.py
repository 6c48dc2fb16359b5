"""Labels against reference labels: accuracy, F1 and confusion, as metrics of sacrebleu.

sacrebleu resamples them for confidence intervals and paired tests as it does BLEU. A line has one
label (of a classifier) or several (tags of its words); all scores are from 0 to 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score, Signature

from ..errors import CgruError
from ..system.lines import tokens

SEED = 12345  # of resampling, as sacrebleu's


class LabelSignature(Signature):
    """sacrebleu's signature, with the kind of average added."""

    def __init__(self, args: dict[str, Any]):
        super().__init__(args)
        self.info["average"] = args["average"]


class LabelMetric(Metric):
    """A metric that counts something in each line and scores the sums of these counts."""

    _SIGNATURE_TYPE = LabelSignature
    name = ""
    average = ""

    def __init__(self, references: Sequence[Sequence[str]] | None = None):
        super().__init__()
        self.average = type(self).average  # the signature reads the instance's own
        if references:
            self._ref_cache = self._cache_references(references)

    def corpus_score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]] | None,
        n_bootstrap: int = 1,
    ) -> Score:
        """sacrebleu's method, but the counts of lines are kept once, not once a resampling."""
        counts = np.array(self._extract_corpus_statistics(hypotheses, references), np.float64)
        score = self._compute_score_from_stats(counts.sum(axis=0))
        if n_bootstrap > 1:
            self.n_bootstrap, self.seed = n_bootstrap, SEED
            generator, lines = np.random.default_rng(SEED), len(counts)
            score.estimate_ci(
                [
                    self._compute_score_from_stats(
                        np.bincount(generator.integers(lines, size=lines), minlength=lines) @ counts
                    )
                    for _ in range(n_bootstrap)
                ]
            )
        return score

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"labels": tokens(refs[0])}

    def _compute_segment_statistics(
        self, hypothesis: str, ref_kwargs: dict[str, Any]
    ) -> list[float]:
        return self.counts(tokens(hypothesis), ref_kwargs["labels"])

    def _aggregate_and_compute(self, stats: list[list[float]]) -> Score:
        return self._compute_score_from_stats(np.sum(stats, axis=0))

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score(self.name, 100 * self.score(np.asarray(stats, np.float64)))

    def counts(self, given: Sequence[str], right: Sequence[str]) -> list[float]:
        """The counts of one line, from its labels and the reference's."""
        raise NotImplementedError

    def score(self, counts: np.ndarray) -> float:
        """The score from 0 to 1, from the sums of `counts`."""
        raise NotImplementedError


class Accuracy(LabelMetric):
    """The share of labels that are right."""

    name, average = "accuracy", "labels"

    def counts(self, given: Sequence[str], right: Sequence[str]) -> list[float]:
        return [sum(map(str.__eq__, given, right)), len(right)]

    def score(self, counts: np.ndarray) -> float:
        return _ratio(counts[0], counts[1])


class F1(LabelMetric):
    """The mean, over all labels that were given or right, of 2 P R / (P + R) of each.

    That is macro-averaged F1; its micro-average is the accuracy.
    """

    name, average = "F1", "macro"

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> list[list[float]]:
        cache: Any = self._cache_references(references) if references else self._ref_cache
        lines = [(tokens(line), of_line["labels"]) for line, of_line in zip(hypotheses, cache)]  # noqa: B905
        known = sorted({label for line in lines for side in line for label in side})
        self._places = {label: place for place, label in enumerate(known)}
        return [self.counts(*line) for line in lines]

    def counts(self, given: Sequence[str], right: Sequence[str]) -> list[float]:
        """For each label the numbers of right, given and reference labels: three rows in one."""
        counts = np.zeros((3, len(self._places)))
        for one, other in zip(given, right, strict=True):
            counts[0, self._places[one]] += one == other
            counts[1, self._places[one]] += 1
            counts[2, self._places[other]] += 1
        return counts.ravel().tolist()

    def score(self, counts: np.ndarray) -> float:
        right, given, wanted = counts.reshape(3, -1)
        seen = given + wanted > 0
        return float(np.mean(2 * right[seen] / (given + wanted)[seen])) if seen.any() else 0.0


class SpanF1(LabelMetric):
    """2 P R / (P + R) of spans, each right where its kind and both its ends are: as seqeval.

    See `spans`. It is micro-averaged: every span counts alike.
    """

    name, average = "span F1", "micro"

    def counts(self, given: Sequence[str], right: Sequence[str]) -> list[float]:
        """Numbers of spans: right, given, in the reference."""
        ours, theirs = spans(given), spans(right)
        return [len(ours & theirs), len(ours), len(theirs)]

    def score(self, counts: np.ndarray) -> float:
        return _ratio(2 * counts[0], counts[1] + counts[2])


def spans(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Kind, first and last place of each span that tags such as B-PER I-PER name.

    A tag is a letter and a kind, as B-PER: B begins a span, I goes on with one of its kind or
    begins one, E ends one, S is one; O, and any word that is no such tag, is none (seqeval's
    `get_entities`, which follows CoNLL's conlleval).
    """
    ended: set[tuple[str, int, int]] = set()
    previous, kind, begin = "O", "", 0
    for place, tag in enumerate([*tags, "O"]):
        letter, _, tag_kind = tag.partition("-")
        letter = letter if letter in ("B", "I", "E", "S") else "O"
        inside = previous in ("B", "I") and letter in ("I", "E") and tag_kind == kind
        if previous != "O" and not inside:
            ended.add((kind, begin, place - 1))
        if letter != "O" and not inside:
            begin = place
        previous, kind = letter, tag_kind
    return ended


METRICS: dict[str, type[LabelMetric]] = {"accuracy": Accuracy, "f1": F1, "span-f1": SpanF1}


def check_lines(name: str, lines: Sequence[str], reference: str, references: Sequence[str]) -> None:
    """Raises CgruError for the first line that has another number of labels than its reference.

    name, reference: of the files.
    """
    for number, (line, right) in enumerate(zip(lines, references, strict=True), 1):
        ours, theirs = len(tokens(line)), len(tokens(right))
        if ours != theirs:
            raise CgruError(
                f"{name}: line {number}: {ours} label{'s' * (ours != 1)}, {theirs} in {reference}"
            )


def confusion(lines: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """All labels, sorted, and how often each (row) of the reference was given each (column)."""
    pairs: Counter[tuple[str, str]] = Counter()
    for line, right in zip(lines, references, strict=True):
        pairs.update(zip(tokens(right), tokens(line), strict=True))
    labels = sorted({label for pair in pairs for label in pair})
    return labels, [[pairs[right, given] for given in labels] for right in labels]


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
