"""Compare labels with references: accuracy, F1 and confusion, as metrics of sacreBLEU.

sacreBLEU resamples the metrics for confidence intervals and paired tests, as it does BLEU. A line
has one label (of a classifier) or several (tags of its words); all scores are from 0 to 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score, Signature

from ...errors import CgruError
from ...system.lines import tokens
from ...system.terminal import counted

SEED = 12345  # sacreBLEU's random seed for resampling


class _LabelSignature(Signature):
    """sacreBLEU's signature plus the kind of average."""

    def __init__(self, args: dict[str, Any]):
        super().__init__(args)
        self.info["average"] = args["average"]


class LabelMetric(Metric):
    """F1 = 2 P R / (P + R) of precision P and recall R, averaged over groups of items.

    An item is a label at its position, or a span; it is correct if the reference also has it. If
    all labels are in one group, F1 is the accuracy, because precision and recall are equal.
    """

    _SIGNATURE_TYPE = _LabelSignature

    def __init__(
        self, name: str, texts: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
    ):
        """name: one of `options.score.LABEL_METRICS`. texts: the output of each system; a macro
        average has one group for each label in them.
        """
        super().__init__()
        self.name, self.average, self._items = _METRICS[name]
        groups = {""}
        if self.average == "macro":
            lines = (line for text in (*texts, *references) for line in text)
            groups = {label for line in lines for label in tokens(line)}
        self._columns = {group: column for column, group in enumerate(sorted(groups))}
        self._ref_cache = self._cache_references(references)

    def corpus_score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]] | None,
        n_bootstrap: int = 1,
    ) -> Score:
        """Like sacreBLEU's method, but stores the counts of lines once, not for each resampling."""
        counts = np.array(self._extract_corpus_statistics(hypotheses, references), np.float64)
        score = self._compute_score_from_stats(counts.sum(axis=0))
        if n_bootstrap > 1:
            self.n_bootstrap, self.seed = n_bootstrap, SEED
            generator, lines = np.random.default_rng(SEED), len(counts)
            resampled = (
                np.bincount(generator.integers(lines, size=lines), minlength=lines) @ counts
                for _ in range(n_bootstrap)
            )
            score.estimate_ci([self._compute_score_from_stats(stats) for stats in resampled])
        return score

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"right": set(self._items(tokens(refs[0])))}

    def _compute_segment_statistics(
        self, hypothesis: str, ref_kwargs: dict[str, Any]
    ) -> list[float]:
        """The numbers of correct, output and reference items of each group, as one row."""
        output, right = set(self._items(tokens(hypothesis))), ref_kwargs["right"]
        counts = np.zeros((3, len(self._columns)))
        for row, items in zip(counts, (output & right, output, right), strict=True):
            for item in items:
                row[self._columns[item[1] if self.average == "macro" else ""]] += 1
        return counts.ravel().tolist()

    def _aggregate_and_compute(self, stats: list[list[float]]) -> Score:
        return self._compute_score_from_stats(np.sum(stats, axis=0))

    def _compute_score_from_stats(self, stats: Any) -> Score:
        correct, output, reference = np.asarray(stats, np.float64).reshape(3, -1)
        seen = output + reference > 0
        f1 = 2 * correct[seen] / (output + reference)[seen]
        mean = float(np.mean(f1)) if seen.any() else 0.0
        return Score(self.name, 100 * mean)


def spans(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """The kind, the first and the last place of each span in tags such as B-PER I-PER.

    A tag is a letter and a kind, such as B-PER: B begins a span, I continues a span of the same
    kind or begins one, E ends a span, S is a whole span; O and any other word are outside spans
    (seqeval's `get_entities`, which follows CoNLL's conlleval).
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


# The name, the average, and the items of each metric.
_METRICS: dict[str, tuple[str, str, Callable[[Sequence[str]], Iterable[tuple]]]] = {
    "accuracy": ("accuracy", "labels", enumerate),
    "f1": ("F1", "macro", enumerate),
    "span-f1": ("span F1", "micro", spans),
}


def check_lines(name: str, lines: Sequence[str], reference: str, references: Sequence[str]) -> None:
    """Raise CgruError for the first line whose number of labels differs from its reference.

    name, reference: names of the files.
    """
    for number, (line, right) in enumerate(zip(lines, references, strict=True), 1):
        count, expected = len(tokens(line)), len(tokens(right))
        if count != expected:
            raise CgruError(
                f"{name}: line {number}: {counted(count, 'label')}, {expected} in {reference}"
            )


def confusion(lines: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """The sorted labels and the confusion matrix, with a row per reference, a column per output."""
    pairs: Counter[tuple[str, str]] = Counter()
    for line, right in zip(lines, references, strict=True):
        pairs.update(zip(tokens(right), tokens(line), strict=True))
    labels = sorted({label for pair in pairs for label in pair})
    return labels, [[pairs[right, label] for label in labels] for right in labels]
