"""What `cgru score` does with an n-best list: `--rerank` it, or `--tune` weights on it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import CgruError, UsageError, warn
from ..options.feature_weights import FeatureWeights
from ..options.score import ScoreOptions
from ..system.atomic_files import atomic_write
from ..system.lines import count_lines
from ..system.terminal import tell
from ..text.subwords import join_bpe
from . import metric as evaluation
from . import weight_search
from .n_best import Entry
from .rerank import Reranker, Sentences, Writer

_SAMPLES = 1000  # resampled lists of an interval, as sacrebleu's


@dataclass(frozen=True)
class Ranking:
    """What is asked for, with all that can be read and checked before models run."""

    options: ScoreOptions
    weights: FeatureWeights
    join: Callable[[str], str]
    references: Sequence[Sequence[str]] = field(default_factory=list)

    @classmethod
    def asked(cls, options: ScoreOptions) -> Ranking | None:
        """None without --rerank and --tune.

        Raises CgruError for files that cannot be read or differ in their lines, and where what
        --tune needs is not installed; UsageError for options that cannot be meant.
        """
        if options.rerank is None and options.tune is None:
            return None
        weights = FeatureWeights.asked(options.rerank)
        join = join_bpe if options.join_bpe else str
        if options.tune is None:
            return cls(options, weights, join)
        weight_search.optimizer()
        evaluation.metric_of(_metric(options), options)
        if not os.path.isdir(os.path.dirname(options.tune) or "."):
            raise CgruError(f"{options.tune}: its folder does not exist")
        references = [evaluation.lines_of(path) for path in options.reference]
        for path, lines in zip(options.reference, references, strict=True):
            if len(lines) != len(references[0]):
                raise CgruError(
                    f"{options.reference[0]} has {len(references[0]):,} lines and {path} "
                    f"{len(lines):,}; line i of one must stand for line i of the other"
                )
        ranking = cls(options, weights, join, references)
        ranking.check_lines(count_lines(options.source) if options.source else None)
        return ranking

    @property
    def name(self) -> str:
        """Of the list."""
        return "standard input" if self.options.n_best == "-" else str(self.options.n_best)

    def check_lines(self, sentences: int | None) -> None:
        """Raise CgruError where there are not as many references, if the number is known."""
        lines = len(self.references[0])
        if sentences not in (None, lines):
            raise CgruError(
                f"{' '.join(self.options.source)} has {sentences:,} lines and "
                f"{self.options.reference[0]} {lines:,}; line i of one must be the translation of "
                "line i of the other"
            )

    def to(self, writer: Writer) -> Reranker | Tuner:
        """What takes the lines of the list, and writes results on."""
        if self.options.tune is not None:
            return Tuner(self, writer)
        return self.reranker(writer, self.weights)

    def reranker(self, writer: Writer, weights: FeatureWeights) -> Reranker:
        options = self.options
        return Reranker(
            writer, self.name, weights, options.normalize, whole=options.rerank_list, join=self.join
        )


class Tuner:
    """A writer of n-best lists that keeps them, and at their end writes the weights found.

    With --rerank it then writes the best hypotheses by these weights.
    """

    def __init__(self, ranking: Ranking, writer: Writer):
        self._ranking, self._writer = ranking, writer
        self._lists = Sentences(ranking.name, len(ranking.references[0]))
        self._sentences: list[list[Entry]] = []
        self._text: list[str] = []

    def write(self, text: str) -> None:
        """Lines of the list, each ended. Raises CgruError as `Sentences`."""
        self._sentences += self._lists.add(text)
        if self._ranking.options.rerank is not None:
            self._text.append(text)

    def close(self, sentences: int | None) -> None:
        """The list has ended; it is of so many sentences, if that is known."""
        ranking, options = self._ranking, self._ranking.options
        ranking.check_lines(sentences)
        lines = len(ranking.references[0])
        self._sentences += self._lists.rest(lines)
        if not self._lists.features:
            raise CgruError(f"{ranking.name}: is empty; there is nothing to tune on")
        if missing := sum(not entries for entries in self._sentences):
            warn(f"{ranking.name}: {missing:,} of {lines:,} sentences have no hypotheses")
        tuned = self._tuned()
        weights = dict(zip(self._lists.features, tuned["weights"].values(), strict=True))
        _write(options.tune, tuned)
        tell(_told(tuned, options.width), options.quiet)
        if options.rerank is not None:
            normalize = tuned["normalize"]
            reranker = ranking.reranker(
                self._writer, FeatureWeights(weights, path=str(options.tune), normalize=normalize)
            )
            for text in self._text:
                reranker.write(text)
            reranker.close(lines)

    def _tuned(self) -> dict[str, Any]:
        """What the file of weights holds."""
        ranking, options = self._ranking, self._ranking.options
        features = self._lists.features
        alpha = options.normalize
        if alpha is None:
            alpha = ranking.weights.normalize or 0.0
        metric = evaluation.metric_of(_metric(options), options, force=True)
        development = weight_search.Development.of(
            self._sentences,
            [[ranking.join(entry.text) for entry in entries] for entries in self._sentences],
            ranking.references,
            metric,
            alpha,
        )
        starting = development.starting()
        if ranking.weights.by_name is not None or ranking.weights.in_order:
            starting = ranking.weights.of(features)
        found = weight_search.tune(
            development, starting, options.restarts, options.samples or _SAMPLES, options.seed
        )
        return {
            "weights": dict(zip(features, found.weights, strict=True)),
            "normalize": alpha,
            "metric": _metric(options),
            "signature": metric.get_signature().format(),
            "score": found.score,
            "starting": {
                "weights": dict(zip(features, found.starting, strict=True)),
                "score": found.starting_score,
                "gain": found.over_starting.gain,
                "interval": [found.over_starting.low, found.over_starting.high],
            },
            "first": {
                "score": found.first_score,
                "gain": found.over_first.gain,
                "interval": [found.over_first.low, found.over_first.high],
            },
            "held_out_gain": found.held_out,
            "sentences": len(self._sentences),
            "hypotheses": sum(map(len, self._sentences)),
            "restarts": options.restarts,
            "seed": options.seed,
        }


def _metric(options: ScoreOptions) -> str:
    """What is optimised. Raises UsageError for several metrics, and for TER."""
    names = evaluation.asked(options) or ["bleu"]
    if len(names) > 1 or names == ["ter"]:
        raise UsageError("--tune optimises one metric: bleu, chrf or chrf++")
    return names[0]


def _told(tuned: dict[str, Any], width: int) -> str:
    """One line for people."""

    def gain(of_one: dict[str, Any]) -> str:
        low, high = of_one["interval"]
        return (
            f"{of_one['score']:.{width}f} ({of_one['gain']:+.{width}f}, 95 % "
            f"{low:+.{width}f} to {high:+.{width}f})"
        )

    held_out = tuned["held_out_gain"]
    text = (
        f"{tuned['metric']} {tuned['score']:.{width}f}; with the weights to start with "
        f"{gain(tuned['starting'])}, the first of each list {gain(tuned['first'])}"
    )
    if held_out is not None:
        text += f"; gain on sentences left out {held_out:+.{width}f}"
        text += ": no reason to change the weights" if held_out <= 0 else ""
    return text


def _write(path: str | None, values: dict[str, Any]) -> None:
    with atomic_write(str(path)) as file:
        file.write((json.dumps(values, ensure_ascii=False, indent=1) + "\n").encode())
