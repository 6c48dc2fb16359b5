"""`cgru score --tune`: read an n-best list to its end, and write the tuned weights."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ...corpus.parallel_files import check_line_counts
from ...errors import CgruError, UsageError, warn
from ...options.feature_weights import FeatureWeights
from ...system.lines import count_lines
from ...system.structured_files import write_json
from ...system.terminal import tell
from ..metrics.evaluation import metric_of, read_references
from ..plan import RESAMPLES, ScorePlan
from . import weight_search
from .entry import Entry
from .rerank import Reranker


class Tuner:
    """Keeps an n-best list, and writes the tuned weights at its end.

    With --rerank, it then yields the best hypotheses by these weights.
    """

    def __init__(self, plan: ScorePlan, reranker: Reranker):
        """Read the references.

        Raises CgruError for unreadable files, unequal line counts and a missing scipy;
        UsageError for a metric that cannot be optimised.
        """
        self._plan, self._reranker = plan, reranker
        self._lists: list[list[Entry]] = []
        options = plan.options
        weight_search.optimizer()
        self._name = _metric(plan)
        self._metric = metric_of(self._name, options, force=True)
        if not os.path.isdir(os.path.dirname(str(options.tune)) or "."):
            raise CgruError(f"{options.tune}: its folder does not exist")
        self._references = read_references(options.reference)
        reranker.sentences.limit = len(self._references[0])
        if options.source:
            self._check_lines(count_lines(options.source))

    def _check_lines(self, sentences: int | None) -> None:
        """Raise CgruError if the number of sentences is known and differs from the references'."""
        if sentences is not None:
            reference = self._plan.options.reference[0], len(self._references[0])
            check_line_counts((" ".join(self._plan.options.source), sentences), reference)

    def add(self, text: str) -> Iterator[str]:
        """Add lines of the list with their newlines. Raises CgruError like `Sentences`."""
        self._lists += self._reranker.sentences.add(text)
        return iter(())

    def close(self, sentences: int | None) -> Iterator[str]:
        """End the list, and tune; sentences: the number of sentences, if known."""
        options, kept = self._plan.options, self._reranker.sentences
        self._check_lines(sentences)
        lines = len(self._references[0])
        self._lists += kept.rest(lines)
        if not kept.features:
            raise CgruError(f"{kept.name}: is empty; there is nothing to tune on")
        if missing := sum(not entries for entries in self._lists):
            warn(f"{kept.name}: {missing:,} of {lines:,} sentences have no hypotheses")
        tuned = self._tuned()
        write_json(str(options.tune), tuned)
        tell(_summary(tuned, options.width), options.quiet)
        tell(f"score: wrote the weights to {options.tune}", options.quiet)
        if options.rerank is not None:
            self._reranker.weights = FeatureWeights(tuned["weights"], path=str(options.tune))
            yield from map(self._reranker.ranked, self._lists)

    def report(self, quiet: bool) -> None:
        """Say how many hypotheses were ranked, with --rerank."""
        if self._plan.options.rerank is not None:
            self._reranker.report(quiet)

    def _tuned(self) -> dict[str, Any]:
        """Tune, and return the content of the file of weights."""
        options, weights = self._plan.options, self._reranker.weights
        features, join = self._reranker.sentences.features, self._reranker.join
        texts = [[join(entry.text) for entry in entries] for entries in self._lists]
        development = weight_search.Development.of(
            self._lists, texts, self._references, self._metric
        )
        starting = development.starting()
        if weights.by_name is not None or weights.in_order:
            starting = weights.for_features(features)
        found = weight_search.tune(
            development, starting, options.restarts, options.samples or RESAMPLES, options.seed
        )
        for solution in (found["tuned"], found["starting"]):
            solution["weights"] = dict(zip(features, solution["weights"], strict=True))
        held_out = found["held_out_gain"]
        kept = found["tuned" if held_out is None or held_out > 0 else "starting"]
        return {
            "weights": kept["weights"],
            "normalize": self._plan.alpha,
            "metric": self._name,
            "signature": self._metric.get_signature().format(),
            "score": kept["score"],
            **found,
            "sentences": len(self._lists),
            "hypotheses": sum(map(len, self._lists)),
            "restarts": options.restarts,
            "seed": options.seed,
        }


def _metric(plan: ScorePlan) -> str:
    """The metric to optimise. Raises UsageError for several metrics, and for TER."""
    names = plan.metrics or ("bleu",)
    if len(names) > 1 or names[0] not in ("bleu", "chrf", "chrf++"):
        raise UsageError("--tune optimises one metric: bleu, chrf or chrf++")
    return names[0]


def _summary(tuned: dict[str, Any], width: int) -> str:
    def gain(compared: dict[str, Any]) -> str:
        low, high = compared["interval"]
        return (
            f"{compared['score']:.{width}f} (gain {compared['gain']:+.{width}f}, 95 % "
            f"{low:+.{width}f} to {high:+.{width}f})"
        )

    held_out = tuned["held_out_gain"]
    text = (
        f"{tuned['metric']} {tuned['tuned']['score']:.{width}f} with the tuned weights; with the "
        f"starting weights {gain(tuned['starting'])}, of first hypotheses {gain(tuned['first'])}"
    )
    if held_out is not None:
        text += f"; gain on sentences left out of the tuning {held_out:+.{width}f}"
        text += ": the starting weights are kept" if held_out <= 0 else ""
    return text
