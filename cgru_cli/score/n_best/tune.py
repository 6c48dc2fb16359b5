"""N-best lists in `cgru score`: `--rerank` them, or `--tune` weights on them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...corpus.parallel_files import check_line_counts
from ...errors import CgruError, UsageError, warn
from ...options.feature_weights import FeatureWeights
from ...system.atomic_files import atomic_write
from ...system.lines import count_lines
from ...system.terminal import tell
from ...text.subwords import join_bpe
from ..metrics.evaluation import metric_of, read_references
from ..plan import ScorePlan
from . import weight_search
from .entry import Entry
from .rerank import Lengths, Reranker, Sentences, Writer

_SAMPLES = 1000  # resampled lists of an interval, as in sacreBLEU


@dataclass(frozen=True)
class Ranking:
    """The input of reranking and tuning, read and checked before models run."""

    plan: ScorePlan
    weights: FeatureWeights
    references: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, plan: ScorePlan) -> Ranking | None:
        """None where lists are neither ranked nor tuned on.

        Raises CgruError for files that cannot be read or differ in their number of lines, and where
        scipy is missing for --tune; UsageError for a metric that cannot be optimised.
        """
        options, weights = plan.options, plan.ranking
        if weights is None or options.tune is None:
            return None if weights is None else cls(plan, weights)
        weight_search.optimizer()
        metric_of(_metric(plan), options)
        if not os.path.isdir(os.path.dirname(options.tune) or "."):
            raise CgruError(f"{options.tune}: its folder does not exist")
        ranking = cls(plan, weights, read_references(options.reference))
        ranking.check_lines(count_lines(options.source) if options.source else None)
        return ranking

    @property
    def join(self) -> Callable[[str], str]:
        """How hypotheses become text."""
        return join_bpe if self.plan.options.join_bpe else str

    def check_lines(self, sentences: int | None) -> None:
        """Raise CgruError where there are not as many references, if the number is known."""
        if sentences is not None:
            reference = self.plan.options.reference[0], len(self.references[0])
            check_line_counts((" ".join(self.plan.options.source), sentences), reference)

    def to(self, writer: Writer, of_model: dict[int, int] | None = None) -> Reranker | Tuner:
        """The writer that takes the lines of the list and writes the result.

        of_model: length of each line's hypothesis by a model (see `Lengths`), None without models.
        """
        options = self.plan.options
        lengths = Lengths(of_model, in_words=options.in_words or options.join_bpe)
        limit = len(self.references[0]) if self.references else None
        name = "standard input" if options.n_best == "-" else str(options.n_best)
        sentences = Sentences(name, limit, lengths if self.plan.alpha else None)
        if options.tune is not None:
            return Tuner(self, writer, sentences)
        return self.reranker(writer, sentences, self.weights)

    def reranker(self, writer: Writer, sentences: Sentences, weights: FeatureWeights) -> Reranker:
        """The writer of the best hypotheses by these weights."""
        alpha, whole = self.plan.alpha, self.plan.options.rerank_list
        return Reranker(writer, sentences, weights, alpha, whole=whole, join=self.join)


class Tuner:
    """A writer of n-best lists that keeps them, and at their end writes the tuned weights.

    With --rerank it then writes the best hypotheses by these weights.
    """

    def __init__(self, ranking: Ranking, writer: Writer, lists: Sentences):
        self._ranking, self._writer, self._lists = ranking, writer, lists
        self._plan = ranking.plan
        self._sentences: list[list[Entry]] = []

    def write(self, text: str) -> None:
        """Lines of the list, each ended. Raises CgruError as `Sentences`."""
        self._sentences += self._lists.add(text)

    def close(self, sentences: int | None) -> None:
        """End the list; sentences: their number, if it is known."""
        ranking, options = self._ranking, self._plan.options
        ranking.check_lines(sentences)
        lines = len(ranking.references[0])
        self._sentences += self._lists.rest(lines)
        if not self._lists.features:
            raise CgruError(f"{self._lists.name}: is empty; there is nothing to tune on")
        if missing := sum(not entries for entries in self._sentences):
            warn(f"{self._lists.name}: {missing:,} of {lines:,} sentences have no hypotheses")
        tuned = self._tuned()
        with atomic_write(str(options.tune)) as file:
            file.write((json.dumps(tuned, ensure_ascii=False, indent=1) + "\n").encode())
        tell(_summary(tuned, options.width), options.quiet)
        if options.rerank is not None:
            weights = FeatureWeights(tuned["weights"], path=str(options.tune))
            reranker = ranking.reranker(self._writer, self._lists, weights)
            for entries in self._sentences:
                self._writer.write(reranker.ranked(entries))

    def _tuned(self) -> dict[str, Any]:
        """The content of the file of weights."""
        ranking, options, alpha = self._ranking, self._plan.options, self._plan.alpha
        features = self._lists.features
        name = _metric(self._plan)
        optimised = metric_of(name, options, force=True)
        development = weight_search.Development.of(
            self._sentences,
            [[ranking.join(entry.text) for entry in entries] for entries in self._sentences],
            ranking.references,
            optimised,
            alpha,
        )
        starting = development.starting()
        if ranking.weights.by_name is not None or ranking.weights.in_order:
            starting = ranking.weights.for_features(features)
        tuned = weight_search.tune(
            development, starting, options.restarts, options.samples or _SAMPLES, options.seed
        )
        better = tuned.held_out is None or tuned.held_out > 0
        found = {
            "weights": dict(zip(features, tuned.weights, strict=True)),
            "score": tuned.score,
        }
        begun = {
            "weights": dict(zip(features, tuned.starting, strict=True)),
            "score": tuned.starting_score,
        }
        kept = found if better else begun
        return {
            "weights": kept["weights"],
            "normalize": alpha,
            "metric": name,
            "signature": optimised.get_signature().format(),
            "score": kept["score"],
            "tuned": found,
            "starting": begun | _gain(tuned.over_starting),
            "first": {"score": tuned.first_score} | _gain(tuned.over_first),
            "held_out_gain": tuned.held_out,
            "sentences": len(self._sentences),
            "hypotheses": sum(map(len, self._sentences)),
            "restarts": options.restarts,
            "seed": options.seed,
        }


def _gain(gain: weight_search.Gain) -> dict[str, Any]:
    return {"gain": gain.gain, "interval": [gain.low, gain.high]}


def _metric(plan: ScorePlan) -> str:
    """The metric to optimise. Raises UsageError for several metrics, and for TER."""
    names = plan.metrics or ("bleu",)
    if len(names) > 1 or names[0] not in ("bleu", "chrf", "chrf++"):
        raise UsageError("--tune optimises one metric: bleu, chrf or chrf++")
    return names[0]


def _summary(tuned: dict[str, Any], width: int) -> str:
    """The gain as a line of text."""

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
