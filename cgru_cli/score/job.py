"""`cgru score`: scores of given translations, pair after pair in the order of the input.

Pairs are read as they come, sorted by length within a window, scored in batches, and written as
soon as their turn has come.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, check_attention, check_ensemble, preprocessing_of
from ..options.feature_weights import weights_of
from ..options.programs import PROGRAMS
from ..options.score import ScoreOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..output.layout import Layout, alignment_of
from ..system import tensorflow_start
from ..system.lines import LineWriter
from ..system.terminal import ProgressCounter
from ..system.windows import InOrder, batches
from . import metric
from .layout import ScoreLayout
from .model_scorer import ModelScorer
from .pair_scorer import PairScorer
from .pairs import Pairs
from .request import check, files_of, pairs_of
from .tune import Ranking

if TYPE_CHECKING:
    from .rerank import Writer


def run(options: ScoreOptions) -> None:
    """Score as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    if options.metric and options.tune is None:
        metric.run(options)
        return
    check(options)
    readers = [LoadedModel.of(path, options.vocabularies) for path in options.model]
    one_side = bool(readers) and not any(r.model.structure.type.reads_source for r in readers)
    with pairs_of(options, one_side=one_side) as pairs:
        ranking = Ranking.asked(options)
        if readers:
            _with_models(pairs, readers, ranking, options)
            return
        with LineWriter(options.output) as writer:
            ranked = ranking.to(writer)
            for window in pairs.windows(options.mini_batch, options.maxi_batch):
                ranked.write("".join(f"{pair.entry}\n" for pair in window))
            ranked.close(pairs.sentences())


def _with_models(
    pairs: Pairs,
    readers: Sequence[LoadedModel],
    ranking: Ranking | None,
    options: ScoreOptions,
) -> None:
    """Score all pairs; print them, or hand the list with its new features on to be ranked."""
    if ranking:
        options = dataclasses.replace(options, normalize=None)  # what is ranked is divided, later
    together = options.ensemble or bool(options.weights)
    columns = 1 if together else len(options.model)
    heatmaps = Heatmaps.of(options, files_of(options), (options.output,))
    starting = tensorflow_start.Start()
    weights: tuple[float, ...] = ()
    if together:
        check_ensemble(readers)
        sums = bool(options.compat) and PROGRAMS[options.compat].sums
        weights = weights_of(options.weights, options.model, sums=sums)
    layout = _layout(options, readers, columns)
    with_alignment = layout.layout.alignment is not None or heatmaps.wanted
    for some in [readers] if together else [[reader] for reader in readers]:
        check_attention(some, with_alignment)
    models = _scorers(readers, options)
    backward = None
    if options.dual:
        (backward,) = _scorers([LoadedModel.of(options.dual, options.vocabularies[::-1])], options)
    every = [*models, *filter(None, [backward])]
    starting.finish(options.device, options.cpu_threads)
    for model in every:
        model.begin(with_alignment=with_alignment)
    with heatmaps, LineWriter(options.output) as writer:
        output = ranking.to(writer) if ranking else writer
        scoring = PairScorer(models, weights, layout, options, backward)
        try:
            _score(pairs, output, scoring, heatmaps, options)
        finally:
            for model in every:
                model.source.report()
        if ranking:
            output.close(pairs.sentences())


def _scorers(readers: Sequence[LoadedModel], options: ScoreOptions) -> list[ModelScorer]:
    """Models that read the same text."""
    asked = {"--no-spm-encode": options.no_spm_encode}
    preprocessing = None if options.no_preprocess else preprocessing_of(readers, asked)
    return [ModelScorer(reader, preprocessing, options) for reader in readers]


def _layout(options: ScoreOptions, readers: Sequence[LoadedModel], columns: int) -> ScoreLayout:
    alignment = alignment_of(options.alignment)
    if alignment is None and options.alignment_format:
        alignment = "soft"
    program = PROGRAMS[options.compat].layout if options.compat else "cgru"
    if options.summary and (options.word_scores or alignment is not None or options.n_best):
        raise UsageError("--summary prints one number; not with words, alignments or n-best lists")
    right_left = {reader.model.settings.right_left for reader in readers}
    if columns != len(readers) and len(right_left) > 1:
        raise UsageError("an ensemble's models write in one direction; these write in both")
    layout = Layout(
        program=program,
        word_scores=options.word_scores,
        alignment=alignment,
        alignment_format=options.alignment_format,
        right_left=right_left == {True},
        normalize=bool(options.normalize),
    )
    if options.n_best and layout.format in ("nematus", "json"):
        raise UsageError(f"--alignment-format {layout.format} has no place in an n-best list")
    return ScoreLayout(layout, columns, options.n_best_feature, digits=bool(options.dual))


def _score(
    pairs: Pairs,
    writer: Writer,
    scoring: PairScorer,
    heatmaps: Heatmaps,
    options: ScoreOptions,
) -> None:
    """All pairs, in windows."""
    in_order = InOrder()
    progress = ProgressCounter("pairs", options.quiet)
    start = 0
    for window in pairs.windows(options.mini_batch, options.maxi_batch):
        lines = [scoring.read(pair, start + i) for i, pair in enumerate(window)]
        sizes = [max(max(len(one.source), len(one.target)) for one in line) + 1 for line in lines]
        together = batches(sizes, options.mini_batch, scoring.max_tokens)
        for batch in sorted(together, key=min):  # so that output in order can start early
            numbers = [start + i for i in batch]
            scored = scoring.batch(numbers, [lines[i] for i in batch])
            for i, of_pair in zip(batch, scored, strict=True):
                if heatmaps.wants(start + i):
                    heatmaps.add(start + i, scoring.views(lines[i], of_pair))
                of_pair = of_pair[: scoring.columns]
                if options.summary:
                    scoring.add(of_pair)
                else:
                    text = scoring.text(start + i, lines[i], window[i], of_pair)
                    writer.write(in_order.put(start + i, text))
            progress.add(len(batch))
        start += len(window)
    progress.close()
    scoring.report(options.quiet)
    if options.summary:
        writer.write(f"{scoring.summary(options.summary)}\n")
