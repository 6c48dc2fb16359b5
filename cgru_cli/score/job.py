"""`cgru score`: scores of given translations, pair after pair in the order of the input.

Pairs are read as they come, sorted by length within a window, scored in batches, and written as
soon as their turn has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..formats.declared import check_declared
from ..formats.loaded_model import LoadedModel, check_attention, check_ensemble
from ..options.score import ScoreOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..output.heatmap.view import model_names
from ..output.hypothesis import Hypothesis
from ..system import tensorflow_start
from ..system.line_writer import LineWriter
from ..system.log_file import log_to
from ..system.terminal import ProgressCounter
from ..system.windows import InOrder
from . import metric
from .filter import PairFilter, dual_score
from .layout import ScoreLayout
from .pair_scorer import PairScorer, ScoredPair, in_batches
from .pairs import Pair, Pairs
from .request import ScoreRequest
from .summary import Summary
from .tune import Ranking

if TYPE_CHECKING:
    from .rerank import Writer


def run(options: ScoreOptions) -> None:
    """Score as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    with log_to(options.log, "cgru score"):
        _run(ScoreRequest.of(options), options.model_is)


def _run(request: ScoreRequest, model_is: Sequence[str]) -> None:
    if request.texts_alone:
        metric.run(request)
        return
    models = [LoadedModel.of(path, request.vocabularies) for path in request.models]
    check_declared([loaded.model for loaded in models], model_is)
    one_side = bool(models) and not any(loaded.reads_source for loaded in models)
    with request.pairs(one_side=one_side) as pairs:
        ranking = Ranking.of(request)
        if ranking and not models:
            _rank_alone(pairs, ranking, request)
        else:
            _with_models(pairs, models, ranking, request)


def _rank_alone(pairs: Pairs, ranking: Ranking, request: ScoreRequest) -> None:
    """Rank a list by the features that it has."""
    with LineWriter(request.output) as writer:
        ranked = ranking.to(writer)
        for window in pairs.windows(request.mini_batch, request.maxi_batch):
            ranked.write("".join(f"{pair.entry}\n" for pair in window))
        ranked.close(pairs.sentences())


def _with_models(
    pairs: Pairs, models: Sequence[LoadedModel], ranking: Ranking | None, request: ScoreRequest
) -> None:
    """Score all pairs, then print them or rank the list with its new features."""
    heatmaps = Heatmaps.of(
        request.heatmap, request.heatmap_lines, request.models, request.files, (request.output,)
    )
    starting = tensorflow_start.Start()
    if request.weights:
        check_ensemble(models)
    layout = request.layout(models)
    with_alignment = layout.layout.alignment is not None or heatmaps.wanted
    columns = [models] if request.weights else [[loaded] for loaded in models]
    for column in columns:
        check_attention(column, with_alignment)
    reading = request.reading(models)
    backward = None
    if request.dual:
        backward = LoadedModel.of(request.dual, request.vocabularies[::-1])
        backward_reading = request.reading([backward])
    starting.finish(request.device, request.cpu_threads)
    scorers = [
        PairScorer.asked(request, column, reading, with_alignment=with_alignment)
        for column in columns
    ]
    if backward:
        scorers.append(
            PairScorer.asked(
                request, [backward], backward_reading, with_alignment=False, backward=True
            )
        )
    lengths: dict[int, int] | None = {} if ranking else None
    with heatmaps, LineWriter(request.output) as writer:
        ranked = ranking.to(writer, lengths) if ranking else None
        try:
            _Scoring(request, scorers, layout, heatmaps, lengths).run(pairs, ranked or writer)
        finally:
            for scorer in scorers:
                for model in scorer.models:
                    model.source.report()
        if ranked:
            ranked.close(pairs.sentences())


class _Scoring:
    """All pairs of the input scored and written, in windows."""

    def __init__(
        self,
        request: ScoreRequest,
        scorers: Sequence[PairScorer],
        layout: ScoreLayout,
        heatmaps: Heatmaps,
        lengths: dict[int, int] | None = None,
    ):
        """scorers: one a column; with --dual, one and that of the other direction. lengths: takes
        the words of each translation (EOS counted) by the first model.
        """
        self._lengths = lengths
        self._request, self._scorers, self._layout = request, scorers, layout
        self._heatmaps = heatmaps
        ends = [scorer.models[0].loaded.writes_text for scorer in scorers]
        self._summary = Summary(request.summary, layout.models, ends) if request.summary else None
        self._filter = PairFilter(request.bounds) if request.bounds.given else None

    def run(self, pairs: Pairs, writer: Writer) -> None:
        request = self._request
        in_order = InOrder()
        progress = ProgressCounter("pairs", request.quiet)
        start = 0
        for window in pairs.windows(request.mini_batch, request.maxi_batch):
            texts = [(pair.source, pair.target) for pair in window]
            for number, scored in in_batches(self._scorers, texts, start, request.mini_batch):
                if self._heatmaps.wants(number):
                    self._draw(number, scored, window[number - start])
                hypotheses = [pair.hypothesis for pair in scored]
                if request.dual:
                    hypotheses = [dual_score(*hypotheses)]
                if self._summary:
                    self._summary.add(hypotheses)
                else:
                    pair = window[number - start]
                    text = self._text(number, pair, scored[0].source, hypotheses)
                    if self._lengths is not None:
                        self._lengths[number] = len(hypotheses[0].word_scores)
                    writer.write(in_order.put(number, text))
                progress.add(1)
            start += len(window)
        progress.close()
        if self._filter:
            self._filter.report(request.quiet)
        if self._summary:
            writer.write(f"{self._summary.text()}\n")

    def _text(
        self, number: int, pair: Pair, source: Sequence[str], scored: Sequence[Hypothesis]
    ) -> str:
        """The output for a pair."""
        if pair.entry:
            return self._layout.entry(pair.entry, scored)
        if self._filter:
            return self._filter.line(pair, number, self._layout.number(scored[0].total))
        return self._layout.pair(number, source, scored, pair.target)

    def _draw(self, number: int, scored: Sequence[ScoredPair], pair: Pair) -> None:
        """Draw the views of all columns, under names that tell the models apart."""
        names = iter(model_names(self._request.models))
        views = []
        for scorer, of_scorer in zip(self._scorers, scored, strict=True):
            views += scorer.views(of_scorer, [next(names) for _ in scorer.models])
        self._heatmaps.add(number, views, pair.source, pair.target)
