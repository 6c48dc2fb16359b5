"""Score pairs by a plan, for `PairScorer` and the commands."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CgruError
from ...formats.loaded_model import LoadedModel, Reading
from ...output.heatmap.view import MEAN, View
from ...output.hypothesis import Hypothesis, view_of
from ...system.side_by_side import side_by_side, together_in
from ...system.windows import batches
from ..plan import ScorePlan
from .model_scorer import Line, ModelScorer

if TYPE_CHECKING:
    from ...search.scoring import Scores


# A scored translation, with words in the order of writing: by all models together, with the source
# as the first model with a source reads it, and then by each model if asked for.
ScoredPair = list[Hypothesis]


class EnsembleScorer:
    """Reads and scores pairs with one model or an ensemble."""

    def __init__(
        self,
        models: Sequence[ModelScorer],
        weights: Sequence[float] = (),
        normalize: float = 0.0,
        *,
        word_penalty: float = 0.0,
        with_alignment: bool = False,
        backward: bool = False,
        members: bool = False,
    ):
        """weights: of the models in an ensemble, () for a single model. normalize, word_penalty:
        compute `total` from the score, see `SearchSettings.total`. with_alignment: requires that
        all models split the source into the same words. backward: score the source given the
        translation. members: also return each model's own scores, for heat maps.
        """
        self._members = members
        self.models, self.weights = models, tuple(weights)
        from ...search.settings import SearchSettings

        self._ranking = SearchSettings(normalize=normalize, word_penalty=word_penalty)
        self._with_mean = with_alignment and bool(weights)
        self._backward = backward
        # the model whose source words to show
        self._first = next((m for m, one in enumerate(models) if one.loaded.reads_source), 0)
        self.max_tokens = min(model.max_tokens for model in models)

    @classmethod
    def planned(
        cls,
        plan: ScorePlan,
        models: Sequence[LoadedModel],
        reading: Reading,
        *,
        with_alignment: bool = False,
        **more: Any,
    ) -> EnsembleScorer:
        """A scorer with these models; their arrays move into networks.

        more: arguments of the constructor instead of the plan's.
        """
        scorers = model_scorers(plan, models, reading, with_alignment=with_alignment)
        given = {"weights": plan.weights, "normalize": plan.normalize, **more}
        members = bool(plan.options.heatmap)
        return cls(scorers, with_alignment=with_alignment, members=members, **given)

    def read(self, source: str, target: str, number: int) -> list[Line]:
        """A pair (counted from 0) as each model reads it.

        Raises CgruError if the models of an ensemble split the source into different words, because
        the mean of their attention is then undefined.
        """
        if self._backward:
            source, target = target, source
        lines = [model.read(source, target, number) for model in self.models]
        read = [
            line.source
            for line, model in zip(lines, self.models, strict=True)
            if model.loaded.reads_source
        ]
        if self._with_mean and any(words != read[0] for words in read):
            raise CgruError(
                f"line {number + 1}: the models split the source into different words, so that "
                "their attention cannot be averaged; score with each model separately"
            )
        return lines

    def batch(self, numbers: Sequence[int], lines: Sequence[Sequence[Line]]) -> list[ScoredPair]:
        """Score pairs in one batch; numbers: their lines, for messages."""
        columns = [
            model(numbers, [line[m] for line in lines]) for m, model in enumerate(self.models)
        ]
        by = [(self._first, _together(columns, self.weights))]
        by += enumerate(columns) if len(columns) > 1 and self._members else ()
        return [
            [self._hypothesis(m, line, scores, row) for m, scores in by]
            for row, line in enumerate(lines)
        ]

    def views(self, pair: ScoredPair, names: Sequence[str]) -> list[View]:
        """The heat map of a model, or of an ensemble's mean and of each model with attention."""
        loaded, (together, *of_models) = self.models[0].loaded, pair
        view = functools.partial(
            view_of, right_left=loaded.right_left, labels=not loaded.writes_text
        )
        name = MEAN if len(self.models) > 1 else names[0]
        views = [view(name, together, model_weights=self.weights or (1.0,))]
        return views + [
            view(name, hypothesis)
            for name, hypothesis in zip(names, of_models, strict=False)
            if hypothesis.alignment is not None  # as in a language model
        ]

    def _hypothesis(self, m: int, lines: Sequence[Line], scores: Scores, row: int) -> Hypothesis:
        line = lines[m]
        length = len(line.target) + 1
        words = scores.log_probs[row, :length]
        score = float(np.sum(words, dtype=np.float64))
        alignment = scores.alignment
        if alignment is not None:
            alignment = alignment[row, :length, : len(line.source) + 1]
        total = self._ranking.total(score, length)
        return Hypothesis(
            line.target,
            True,
            score,
            total,
            words,
            (score,),
            alignment,
            source=self.models[m].loaded.without_factors(line.source),
        )


def model_scorers(
    plan: ScorePlan, models: Sequence[LoadedModel], reading: Reading, *, with_alignment: bool
) -> list[ModelScorer]:
    """A scorer for each model by a plan; the models' arrays move into networks."""
    from ...search.runtime import Settings, prepared

    options = plan.options
    settings = Settings(options.device, options.cpu_threads)
    return [
        ModelScorer(
            one,
            reading,
            prepared(one.model, options.precision, settings),
            options.workspace,
            with_alignment=with_alignment,
        )
        for one in models
    ]


def in_batches(
    scorers: Sequence[EnsembleScorer], pairs: Sequence[tuple[str, str]], first: int, mini_batch: int
) -> Iterator[tuple[int, list[ScoredPair]]]:
    """Pairs (source, target) scored by each scorer, with their numbers, as they become ready.

    first: the number of the first pair, from 0. Pairs of similar length are scored together.
    """
    lines = [
        [scorer.read(source, target, first + i) for scorer in scorers]
        for i, (source, target) in enumerate(pairs)
    ]
    sizes = [max(one.length for of_scorer in line for one in of_scorer) for line in lines]
    max_tokens = min(scorer.max_tokens for scorer in scorers)
    together = sorted(batches(sizes, mini_batch, max_tokens), key=min)  # early output first

    def scored(batch: Sequence[int]) -> Iterator[tuple[int, list[ScoredPair]]]:
        numbers = [first + i for i in batch]
        columns = [
            scorer.batch(numbers, [lines[i][s] for i in batch]) for s, scorer in enumerate(scorers)
        ]
        for number, *pairs in zip(numbers, *columns, strict=True):
            yield number, pairs

    threads = together_in(max_tokens, sizes, together, scorers[0].models[0].threads)
    if threads > 1:
        for model in (model for scorer in scorers for model in scorer.models):
            model.share_processors()
    yield from side_by_side(map(scored, together), threads)


def _together(columns: Sequence[Scores], weights: Sequence[float]) -> Scores:
    """An ensemble's scores: weighted sums of log-probabilities, and mean attention."""
    if not weights:
        (scores,) = columns
        return scores
    weighted = [w * scores.log_probs for w, scores in zip(weights, columns, strict=True)]
    log_probs: np.ndarray = functools.reduce(np.add, weighted, np.zeros_like(weighted[0]))
    alignments = [scores.alignment for scores in columns if scores.alignment is not None]
    alignment = None
    if alignments:
        alignment = np.asarray(np.mean(alignments, axis=0, dtype=np.float32))
    return columns[0]._replace(log_probs=log_probs, alignment=alignment)
