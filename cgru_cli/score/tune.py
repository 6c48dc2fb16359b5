"""N-best lists in `cgru score`: `--rerank` them, or `--tune` weights on them."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..corpus.parallel_files import check_line_counts
from ..errors import CgruError, UsageError, warn
from ..options.feature_weights import FeatureWeights
from ..system.atomic_files import atomic_write
from ..system.lines import count_lines
from ..system.terminal import tell
from ..text.subwords import join_bpe
from . import metric, weight_search
from .n_best import Entry
from .request import Evaluation, RankingRequest, ScoreRequest
from .rerank import Lengths, Reranker, Sentences, Writer

_SAMPLES = 1000  # resampled lists of an interval, as sacrebleu's


@dataclass(frozen=True)
class Ranking:
    """The request for reranking or tuning, read and checked before models run."""

    request: ScoreRequest
    asked: RankingRequest
    join: Callable[[str], str]
    references: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, request: ScoreRequest) -> Ranking | None:
        """None where lists are neither ranked nor tuned on.

        Raises CgruError for files that cannot be read or differ in their lines, and where what
        --tune needs is not installed; UsageError for a metric that cannot be optimised.
        """
        asked = request.ranking
        if asked is None:
            return None
        join = join_bpe if asked.join_bpe else str
        if asked.tune is None:
            return cls(request, asked, join)
        weight_search.optimizer()
        evaluation = request.evaluation
        metric.metric_of(_metric(evaluation), evaluation)
        if not os.path.isdir(os.path.dirname(asked.tune) or "."):
            raise CgruError(f"{asked.tune}: its folder does not exist")
        ranking = cls(request, asked, join, metric.read_references(evaluation.references))
        ranking.check_lines(count_lines(request.source) if request.source else None)
        return ranking

    @property
    def name(self) -> str:
        """Of the list."""
        return "standard input" if self.request.n_best == "-" else str(self.request.n_best)

    def check_lines(self, sentences: int | None) -> None:
        """Raise CgruError where there are not as many references, if the number is known."""
        if sentences is not None:
            reference = self.request.evaluation.references[0], len(self.references[0])
            check_line_counts((" ".join(self.request.source), sentences), reference)

    def to(self, writer: Writer, of_model: dict[int, int] | None = None) -> Reranker | Tuner:
        """The writer that takes the lines of the list and writes the result.

        of_model: of each line (from 0) how many words its hypothesis has by a model, put there
        before the line comes; None without models.
        """
        lengths = Lengths(of_model, in_words=self.asked.in_words)
        if self.asked.tune is not None:
            return Tuner(self, writer, lengths)
        return self.reranker(writer, self.asked.weights, lengths)

    def reranker(self, writer: Writer, weights: FeatureWeights, lengths: Lengths) -> Reranker:
        """The writer of the best hypotheses by these weights."""
        asked = self.asked
        return Reranker(
            writer, self.name, weights, asked.normalize, lengths=lengths, whole=asked.whole,
            join=self.join,
        )  # fmt: skip


class Tuner:
    """A writer of n-best lists that keeps them, and at their end writes the weights tuned.

    With --rerank it then writes the best hypotheses by these weights.
    """

    def __init__(self, ranking: Ranking, writer: Writer, lengths: Lengths):
        self._ranking, self._writer = ranking, writer
        alpha = ranking.asked.normalize
        self._alpha = (ranking.asked.weights.normalize or 0.0) if alpha is None else alpha
        self._lists = Sentences(
            ranking.name, len(ranking.references[0]), lengths if self._alpha else None
        )
        self._sentences: list[list[Entry]] = []
        self._text: list[str] = []

    def write(self, text: str) -> None:
        """Lines of the list, each ended. Raises CgruError as `Sentences`."""
        self._sentences += self._lists.add(text)
        if self._ranking.asked.rerank:
            self._text.append(text)

    def close(self, sentences: int | None) -> None:
        """End the list, of so many sentences if their number is known."""
        ranking, asked = self._ranking, self._ranking.asked
        ranking.check_lines(sentences)
        lines = len(ranking.references[0])
        self._sentences += self._lists.rest(lines)
        if not self._lists.features:
            raise CgruError(f"{ranking.name}: is empty; there is nothing to tune on")
        if missing := sum(not entries for entries in self._sentences):
            warn(f"{ranking.name}: {missing:,} of {lines:,} sentences have no hypotheses")
        tuned = self._tuned()
        weights = dict(zip(self._lists.features, tuned["weights"].values(), strict=True))
        _write(asked.tune, tuned)
        tell(_told(tuned, ranking.request.evaluation.width), ranking.request.quiet)
        if asked.rerank:
            entries = itertools.chain.from_iterable(self._sentences)
            lengths = Lengths({i: entry.length or 0 for i, entry in enumerate(entries)})
            file = FeatureWeights(weights, path=str(asked.tune), normalize=tuned["normalize"])
            reranker = ranking.reranker(self._writer, file, lengths)
            for text in self._text:
                reranker.write(text)
            reranker.close(lines)

    def _tuned(self) -> dict[str, Any]:
        """The content of the file of weights."""
        ranking, asked = self._ranking, self._ranking.asked
        evaluation = ranking.request.evaluation
        features = self._lists.features
        name = _metric(evaluation)
        optimised = metric.metric_of(name, evaluation, force=True)
        development = weight_search.Development.of(
            self._sentences,
            [[ranking.join(entry.text) for entry in entries] for entries in self._sentences],
            ranking.references,
            optimised,
            self._alpha,
        )
        starting = development.starting()
        if asked.weights.by_name is not None or asked.weights.in_order:
            starting = asked.weights.for_features(features)
        tuned = weight_search.tune(
            development, starting, asked.restarts, evaluation.samples or _SAMPLES, asked.seed
        )
        better = tuned.held_out is None or tuned.held_out > 0
        weights = tuned.weights if better else tuned.starting
        return {
            "weights": dict(zip(features, weights, strict=True)),
            "normalize": self._alpha,
            "metric": name,
            "signature": optimised.get_signature().format(),
            "score": tuned.score if better else tuned.starting_score,
            "tuned": {
                "weights": dict(zip(features, tuned.weights, strict=True)),
                "score": tuned.score,
            },
            "starting": {
                "weights": dict(zip(features, tuned.starting, strict=True)),
                "score": tuned.starting_score,
                "gain": tuned.over_starting.gain,
                "interval": [tuned.over_starting.low, tuned.over_starting.high],
            },
            "first": {
                "score": tuned.first_score,
                "gain": tuned.over_first.gain,
                "interval": [tuned.over_first.low, tuned.over_first.high],
            },
            "held_out_gain": tuned.held_out,
            "sentences": len(self._sentences),
            "hypotheses": sum(map(len, self._sentences)),
            "restarts": asked.restarts,
            "seed": asked.seed,
        }


def _metric(evaluation: Evaluation) -> str:
    """The metric to optimise. Raises UsageError for several metrics, and for TER."""
    names = evaluation.metrics or ("bleu",)
    if len(names) > 1 or names[0] not in ("bleu", "chrf", "chrf++"):
        raise UsageError("--tune optimises one metric: bleu, chrf or chrf++")
    return names[0]


def _told(tuned: dict[str, Any], width: int) -> str:
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


def _write(path: str | None, values: dict[str, Any]) -> None:
    with atomic_write(str(path)) as file:
        file.write((json.dumps(values, ensure_ascii=False, indent=1) + "\n").encode())
