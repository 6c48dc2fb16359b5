"""`cgru score --tune`: find the feature weights that select an n-best list's best translations.

The search optimises the metric of the whole corpus, computed from the statistics of each
hypothesis, as in minimum error rate training (Och 2003). The metric is piecewise constant, without
a useful gradient, so differential evolution finds the region, and exact line searches along the
axes refine the weights; either alone scores lower. Runs on resampled sentences come first: their
weights join the population of the run on all sentences, and the sentences that each run left out
estimate the gain on other texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CgruError
from .entry import Entry

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

_POPULATION = 12  # points per feature
_GENERATIONS = 60
_PATIENCE = 15  # generations without a better point


class Development:
    """At most K hypotheses of each of S sentences, with D features and T statistics of a metric."""

    def __init__(self, features: np.ndarray, stats: np.ndarray, metric: Metric):
        """features: (S,K,D), normalised by length; stats: (S,K,T), which add up to the corpus'.

        Sentences with fewer than K hypotheses are padded with the first.
        """
        self.size, self._metric = features.shape[:2], metric
        self._features = features.reshape(-1, features.shape[2])
        self._stats = stats.reshape(-1, stats.shape[2])
        self._firsts = np.arange(self.size[0]) * self.size[1]

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[Entry]],
        texts: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        metric: Metric,
    ) -> Development:
        """texts: the text of each entry as the metric reads it; references: (R,S), R per sentence.

        A sentence without hypotheses counts as an empty translation.
        """
        names = next(tuple(entries[0].features) for entries in sentences if entries)
        counts = np.array([max(1, len(entries)) for entries in sentences])
        flat = [text for of_sentence in texts for text in of_sentence or ("",)]
        repeated = [np.repeat(np.array(lines, object), counts).tolist() for lines in references]
        stats = np.array(metric._extract_corpus_statistics(flat, repeated), np.float64)
        features: list[list[float]] = []
        for entries in sentences:
            features += [[one.features[n] / one.divisor for n in names] for one in entries]
            features += [] if entries else [[0.0] * len(names)]
        places = np.arange(counts.max())
        places = np.where(places < counts[:, None], places, 0)
        index = (np.cumsum(counts) - counts)[:, None] + places  # (S,K)
        return cls(np.array(features)[index], stats[index], metric)

    def best(self, weights: np.ndarray) -> np.ndarray:
        """The index (S,) of the hypothesis with the highest weighted sum, the first in a tie."""
        return np.argmax((self._features @ weights).reshape(self.size), axis=1)

    def chosen(self, index: np.ndarray) -> np.ndarray:
        """Statistics (S,T) of one hypothesis of each sentence."""
        return self._stats[self._firsts + index]

    def score(self, stats: np.ndarray) -> float:
        """The metric of a corpus with these statistics (T,)."""
        return float(self._metric._compute_score_from_stats(stats.tolist()).score)

    def of_weights(self, weights: np.ndarray, counts: np.ndarray | None = None) -> float:
        """The metric of the best hypotheses, where sentence s occurs counts[s] times."""
        stats = self.chosen(self.best(weights))
        return self.score(stats.sum(axis=0) if counts is None else counts @ stats)

    def along(self, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The best weights among weights + t * direction, over all t.

        The search is exact: totals are linear in t, so the best hypothesis of a sentence changes
        only where two of these lines cross (Och 2003, section 3).
        """
        heights = (self._features @ weights).reshape(self.size)
        slopes = (self._features @ direction).reshape(self.size)
        rows = np.arange(self.size[0])
        flattest = slopes == slopes.min(axis=1, keepdims=True)
        index = np.argmax(np.where(flattest, heights, -np.inf), axis=1)  # at t = -infinity
        stats = self.chosen(index).sum(axis=0)
        places, changes = [], []
        while len(rows):
            rise = slopes[rows] - slopes[rows, index[rows], None]
            fall = heights[rows, index[rows], None] - heights[rows]
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = np.where(rise > 0, fall / rise, np.inf)
            nearest = np.argmin(crossing, axis=1)
            place = crossing[np.arange(len(rows)), nearest]
            rows, nearest, place = (x[np.isfinite(place)] for x in (rows, nearest, place))
            before = self._stats[self._firsts[rows] + index[rows]]
            index[rows] = nearest
            changes.append(self._stats[self._firsts[rows] + nearest] - before)
            places.append(place)
        place = np.concatenate(places)
        if not len(place):
            return weights
        order = np.argsort(place, kind="stable")
        place = np.concatenate([place[order[:1]] - 1, place[order], place[order[-1:]] + 1])
        stats = np.cumsum(np.concatenate([stats[None], *changes])[[0, *order + 1]], axis=0)
        wide = np.flatnonzero(np.diff(place) > 0)
        scores = [(self.score(stats[i]), place[i + 1] - place[i], i) for i in wide]
        i = max(scores)[2]
        return weights + (place[i] + place[i + 1]) / 2 * direction

    def starting(self) -> list[float]:
        """1 for each feature, but -1 if it is never negative, as a cost or a length."""
        values = self._features
        return np.where((values.min(axis=0) >= 0) & values.any(axis=0), -1.0, 1.0).tolist()


def tune(
    development: Development, starting: Sequence[float], restarts: int, samples: int, seed: int
) -> dict[str, Any]:
    """Find the weights that score best on the list, at least as well as the starting weights.

    restarts: runs on resampled sentences; samples: resampled lists for the intervals. The same seed
    gives the same weights. Raises CgruError if scipy is missing.

    Returns tuned: the weights (their absolute values add up to 1) and their score on the list;
    starting, and first (the first hypothesis of each sentence): their scores, and the gain over
    them with its 95 % interval; held_out_gain: the mean gain over the starting weights that runs on
    resampled sentences have on the sentences that they left out, None without such runs.
    """
    generator = np.random.default_rng(seed)
    begin = _scaled(np.asarray(starting, np.float64))
    points, held_out = [begin], []
    sentences = development.size[0]
    for _ in range(restarts):
        counts = np.bincount(generator.integers(sentences, size=sentences), minlength=sentences)
        resampled = _evolved(development, counts, [begin], generator)
        points.append(resampled)
        left_out = (counts == 0).astype(np.float64)
        if left_out.any():
            scores = [development.of_weights(w, left_out) for w in (resampled, begin)]
            held_out.append(scores[0] - scores[1])
    points.append(_evolved(development, np.ones(sentences), points, generator))
    weights = _climbed(development, max(points, key=development.of_weights))
    stats = [development.chosen(development.best(w)) for w in (weights, begin)]
    stats.append(development.chosen(np.zeros(sentences, np.int64)))
    scores = [development.score(chosen.sum(axis=0)) for chosen in stats]
    drawings = np.empty((samples, len(stats)))  # bootstrap intervals (Koehn 2004)
    for sample in drawings:
        drawn = generator.integers(sentences, size=sentences)
        sample[:] = [development.score(chosen[drawn].sum(axis=0)) for chosen in stats]

    def gain(other: int) -> dict[str, Any]:
        interval = np.percentile(drawings[:, 0] - drawings[:, other], (2.5, 97.5)).tolist()
        return {"score": scores[other], "gain": scores[0] - scores[other], "interval": interval}

    return {
        "tuned": {"weights": weights.tolist(), "score": scores[0]},
        "starting": {"weights": list(starting)} | gain(1),
        "first": gain(2),
        "held_out_gain": float(np.mean(held_out)) if held_out else None,
    }


def _evolved(
    development: Development,
    counts: np.ndarray,
    points: Sequence[np.ndarray],
    generator: np.random.Generator,
) -> np.ndarray:
    """The best weights by differential evolution, from a population that includes these points."""
    differential_evolution = optimizer()
    features = len(points[0])
    population = generator.uniform(-1, 1, (max(8, _POPULATION * features), features))
    population[: len(points)] = points[: len(population)]
    best, since = -np.inf, 0

    def stalled(intermediate_result) -> bool:
        nonlocal best, since
        since = since + 1 if -intermediate_result.fun <= best else 0
        best = max(best, -intermediate_result.fun)
        return since >= _PATIENCE

    result = differential_evolution(
        lambda weights: -development.of_weights(weights, counts),
        [(-1, 1)] * features,
        init=population,
        maxiter=_GENERATIONS,
        tol=0,
        polish=False,
        rng=generator,
        callback=stalled,
    )
    return _scaled(result.x)


def _climbed(development: Development, weights: np.ndarray) -> np.ndarray:
    """The weights after exact line searches along the axes, as long as the score rises."""
    score = development.of_weights(weights)
    while True:
        steps = [_scaled(development.along(weights, axis)) for axis in np.eye(len(weights))]
        best = max(steps, key=development.of_weights)
        if (reached := development.of_weights(best)) <= score:
            return weights
        weights, score = best, reached


def optimizer():
    """scipy's differential evolution. Raises CgruError if it is missing."""
    try:
        from scipy.optimize import differential_evolution
    except ImportError:
        raise CgruError("--tune needs scipy: pip install 'cgru[tune]'") from None
    return differential_evolution


def _scaled(weights: np.ndarray) -> np.ndarray:
    """The weights, scaled so that absolute values add up to 1, unless all are 0."""
    return weights / (np.abs(weights).sum() or 1.0)
