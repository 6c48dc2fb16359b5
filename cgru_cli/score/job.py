"""`cgru score`: score given translations, and write the scores in the order of the input.

Pairs are read as they arrive, sorted by length within a window, scored in batches, and written as
soon as all earlier pairs are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import errors
from ..errors import UsageError
from ..formats.declared import check_declared
from ..formats.loaded_model import LoadedModel, check_attention, check_ensemble, load_model
from ..options.score import ScoreOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..output.heatmap.view import model_names
from ..parameters.program import Program
from ..system.line_writer import LineWriter
from ..system.log_file import log_to
from ..system.terminal import ProgressCounter
from ..system.windows import in_order
from ..text.subwords import join_bpe
from .n_best.rerank import Reranker, Sentences
from .pairs.ensemble_scorer import EnsembleScorer, ScoredPair, in_batches
from .pairs.filter import PairFilter, dual_score
from .pairs.layout import ScoreLayout
from .pairs.readers import Pair, Pairs
from .pairs.summary import Summary
from .plan import ScorePlan

if TYPE_CHECKING:
    from .n_best.tune import Tuner


def run(options: ScoreOptions) -> None:
    """Score pairs, n-best lists or texts.

    Raises CgruError for bad models, vocabularies and input; OutputClosed if the reader is gone.
    """
    with log_to(options.log, "cgru score"):
        _run(ScorePlan(options))


def _reports(options: ScoreOptions) -> str:
    """The name under which the command says what it wrote; "" with --quiet and --compat."""
    return "" if options.quiet or options.compat else "score"


def _run(plan: ScorePlan) -> None:
    options = plan.options
    if plan.compares_texts:
        from .metrics import evaluation  # needs sacreBLEU

        evaluation.run(plan)
        return
    models = [load_model(path, options.vocabularies) for path in options.model]
    check_declared([loaded.model for loaded in models], options.model_is)
    one_side = bool(models) and not any(loaded.reads_source for loaded in models)
    with plan.pairs(one_side=one_side) as pairs:
        if options.word_top_k:
            from . import top_words

            top_words.write(plan, models, pairs)
            return
        lengths: dict[int, int] | None = {} if models and plan.alpha else None
        ranker = _ranker(plan, lengths)
        if models:
            _with_models(pairs, models, ranker, lengths, plan)
        elif ranker:
            _rank_alone(pairs, ranker, options)


def _ranker(plan: ScorePlan, lengths: dict[int, int] | None) -> Reranker | Tuner | None:
    """The consumer of the n-best list's lines; None without reranking or tuning.

    lengths: the number of words of each line's hypothesis, from a model (see `Sentences`); None
    without models. Raises the errors of `Tuner`.
    """
    options, weights = plan.options, plan.ranking
    if weights is None and options.oracle is None:
        return None
    in_words = options.in_words or options.join_bpe
    sentences = Sentences(plan.list_name, plan.alpha, lengths, in_words=in_words)
    sentences.checks_gaps = not options.source
    join = join_bpe if options.join_bpe else str
    if weights is None:
        from .n_best.oracle import MostSimilar  # needs sacreBLEU

        return MostSimilar(plan, sentences, join=join)
    reranker = Reranker(sentences, weights, whole=options.rerank_list, join=join)
    if options.tune is None:
        return reranker
    from .n_best.tune import Tuner  # needs sacreBLEU

    return Tuner(plan, reranker)


def _rank_alone(pairs: Pairs, ranker: Reranker | Tuner, options: ScoreOptions) -> None:
    with LineWriter(options.output, reports=_reports(options)) as writer:
        for window in pairs.windows(options.mini_batch, options.maxi_batch):
            for text in ranker.add("".join(f"{pair.entry}\n" for pair in window)):
                writer.write(text)
        for text in ranker.close(pairs.sentences()):
            writer.write(text)
    ranker.report(not _reports(options))


def _with_models(
    pairs: Pairs,
    models: Sequence[LoadedModel],
    ranker: Reranker | Tuner | None,
    lengths: dict[int, int] | None,
    plan: ScorePlan,
) -> None:
    """Score all pairs; print the scores, or rank the n-best list with its new features."""
    options = plan.options
    heatmaps = Heatmaps(
        options.heatmap,
        options.heatmap_lines,
        options.model,
        plan.files,
        (options.output,),
        reports=_reports(options),
    )
    columns = [models] if plan.weights else [[loaded] for loaded in models]
    if plan.weights:
        check_ensemble(models)
    layout = plan.layout(models)
    attends = layout.layout.alignment is not None or heatmaps.wanted
    for column in columns:
        check_attention(column, attends)
    reading = plan.reading(models)
    backward = []
    if options.dual:
        backward = [load_model(options.dual, options.vocabularies[::-1])]
        if not backward[0].reads_source:
            raise UsageError(f"--dual: {options.dual} is a language model and reads no source")
        backward_reading = plan.reading(backward)
    scorers = [
        EnsembleScorer.planned(plan, column, reading, with_alignment=attends) for column in columns
    ]
    if backward:
        scorers.append(
            EnsembleScorer.planned(plan, backward, backward_reading, weights=(), backward=True)
        )
    scoring = _Scoring(plan, scorers, layout, heatmaps, lengths)
    with heatmaps, LineWriter(options.output, reports=_reports(options)) as writer:
        try:
            for text in scoring.texts(pairs):
                for ready in ranker.add(text) if ranker else (text,):
                    writer.write(ready)
        finally:
            for scorer in scorers:
                for model in scorer.models:
                    model.source.report()
        for text in ranker.close(pairs.sentences()) if ranker else ():
            writer.write(text)
    if ranker:
        ranker.report(not _reports(options))


@dataclass
class _Scoring:
    """Scores all pairs of the input, in windows, and formats the scores."""

    plan: ScorePlan
    scorers: Sequence[EnsembleScorer]  # one per column; with --dual, one per direction
    layout: ScoreLayout
    heatmaps: Heatmaps
    lengths: dict[int, int] | None  # filled with each line's number of target words (with EOS)

    def __post_init__(self) -> None:
        options = self.plan.options
        self.summary = self.filter = None
        if options.summary:
            ends = [scorer.models[0].loaded.writes_text for scorer in self.scorers]
            form = "g" if options.compat == Program.MARIAN else ".6f"
            self.summary = Summary(options.summary, ends, form)
        if options.keep_above is not None or options.keep_below is not None:
            self.filter = PairFilter(options.keep_above, options.keep_below)

    def texts(self, pairs: Pairs) -> Iterator[str]:
        """The output, in the order of the input."""
        options = self.plan.options
        progress = ProgressCounter("pairs", options.quiet)

        def scored(window: list[Pair], first: int) -> Iterator[tuple[int, str]]:
            texts = [(pair.source, pair.target) for pair in window]
            for number, one in in_batches(self.scorers, texts, first, options.mini_batch):
                progress.add(1)
                yield number, self._scored(number, window[number - first], one)

        yield from in_order(pairs.windows(options.mini_batch, options.maxi_batch), scored)
        progress.close()
        if self.filter:
            self.filter.report(options.quiet)
        if self.summary:
            yield f"{self.summary.text()}\n"

    def _scored(self, number: int, pair: Pair, scored: Sequence[ScoredPair]) -> str:
        """The output for a pair; "" if it is only counted."""
        options = self.plan.options
        if self.heatmaps.wants(number):
            names = iter(model_names(options.model))
            views = []
            for scorer, one in zip(self.scorers, scored, strict=True):
                views += scorer.views(one, [next(names) for _ in scorer.models])
            self.heatmaps.add(number, views, pair.source, pair.target)
        hypotheses = [together for together, *_ in scored]
        if options.dual:
            hypotheses = [dual_score(*hypotheses)]
        if self.summary:
            self.summary.add(hypotheses)
            return ""
        if self.lengths is not None:
            self.lengths[number] = len(hypotheses[0].word_scores)
        if pair.entry:
            with errors.at(f"{self.plan.list_name}: line {number + 1}"):
                return self.layout.entry(pair.entry, hypotheses)
        if self.filter:
            return self.filter.line(pair, number, self.layout.number(hypotheses[0].total))
        return self.layout.pair(number, hypotheses, pair.target)
