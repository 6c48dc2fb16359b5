"""`cgru score`: score translations, and write the scores in the order of the input.

Pairs are read as they arrive, sorted by length within a window, scored in batches, and written as
soon as all earlier pairs are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    with heatmaps, LineWriter(options.output, reports=_reports(options)) as writer:
        try:
            for text in _texts(pairs, scorers, layout, heatmaps, lengths, plan):
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


def _texts(
    pairs: Pairs,
    scorers: Sequence[EnsembleScorer],
    layout: ScoreLayout,
    heatmaps: Heatmaps,
    lengths: dict[int, int] | None,
    plan: ScorePlan,
) -> Iterator[str]:
    """The scores of all pairs as text, in the order of the input.

    scorers: one per column; with --dual, one per direction. lengths: to be filled with each line's
    number of target words (with EOS).
    """
    options = plan.options
    summary = kept = None
    if options.summary:
        ends = [scorer.models[0].loaded.writes_text for scorer in scorers]
        form = "g" if options.compat == Program.MARIAN else ".6f"
        summary = Summary(options.summary, ends, form)
    if options.keep_above is not None or options.keep_below is not None:
        kept = PairFilter(options.keep_above, options.keep_below)

    def text_of(number: int, pair: Pair, scored: Sequence[ScoredPair]) -> str:
        """The output for a pair; "" if it is only counted."""
        if heatmaps.wants(number):
            names = iter(model_names(options.model))
            views = []
            for scorer, one in zip(scorers, scored, strict=True):
                views += scorer.views(one, [next(names) for _ in scorer.models])
            heatmaps.add(number, views, pair.source, pair.target)
        hypotheses = [together for together, *_ in scored]
        if options.dual:
            hypotheses = [dual_score(*hypotheses)]
        if summary:
            summary.add(hypotheses)
            return ""
        if lengths is not None:
            lengths[number] = len(hypotheses[0].word_scores)
        if pair.entry:
            with errors.at(f"{plan.list_name}: line {number + 1}"):
                return layout.entry(pair.entry, hypotheses)
        if kept:
            return kept.line(pair, number, layout.number(hypotheses[0].total))
        return layout.pair(number, hypotheses, pair.target)

    def texts_of(window: list[Pair], first: int) -> Iterator[tuple[int, str]]:
        pairs_of_text = [(pair.source, pair.target) for pair in window]
        for number, scored in in_batches(scorers, pairs_of_text, first, options.mini_batch):
            progress.add(1)
            yield number, text_of(number, window[number - first], scored)

    progress = ProgressCounter("pairs", options.quiet)
    yield from in_order(pairs.windows(options.mini_batch, options.maxi_batch), texts_of)
    progress.close()
    if kept:
        kept.report(options.quiet)
    if summary:
        yield f"{summary.text()}\n"
