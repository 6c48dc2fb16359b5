"""`cgru score`: scores of given translations, pair after pair in the order of the input.

Pairs are read as they come, sorted by length within a window, scored in batches, and written as
soon as their turn has come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import evaluation, runtime
from .counter import Counter
from .errors import CgruError, UsageError
from .heatmap import Heatmaps
from .heatmap_view import MEAN, View, model_names
from .lines import InOrder, LineWriter, batches, check_distinct, tokens
from .output import Hypothesis, Layout
from .pairs import NBestList, Pair, Pairs, TabSeparated, TwoTexts
from .plan import alignment_of, weights_of
from .programs import PROGRAMS
from .score_options import EVALUATING, ScoreOptions
from .score_output import ScoreLayout
from .translator import (
    SourceLines,
    SourceReader,
    check_ensemble,
    padded,
    prepared,
    preprocessing_of,
)

if TYPE_CHECKING:
    from .preprocessing import Preprocessing
    from .scorer import Scores


def run(options: ScoreOptions) -> None:
    """Score as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    if options.metric:
        evaluation.run(options)
        return
    for name in EVALUATING:
        if getattr(options, name) != getattr(ScoreOptions(), name):
            raise UsageError(f"--{name} is for --metric")
    if not options.model:
        raise UsageError("name a model: cgru score -m MODEL -s SRC -t TRG")
    for name, least in (("mini_batch", 1), ("maxi_batch", 1), ("max_length", 1), ("workspace", 1)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name.replace('_', '-')}: at least {least} is needed")
    together = options.ensemble or bool(options.weights)
    columns = 1 if together else len(options.model)
    files = (*options.model, *options.vocabularies, *options.source, *options.target)
    check_distinct((*files, options.n_best), options.output)
    heatmaps = Heatmaps.of(options, (*files, options.n_best), (options.output,))
    starting = runtime.Start()
    with _pairs(options) as pairs:
        readers = [SourceReader.of(path, options.vocabularies) for path in options.model]
        if together:
            check_ensemble(readers)
        layout = _layout(options, readers, columns)
        asked = {"--no-spm-encode": options.no_spm_encode}
        preprocessing = None if options.no_preprocess else preprocessing_of(readers, asked)
        models = [ModelScorer(reader, preprocessing, options) for reader in readers]
        starting.finish(options.device, options.cpu_threads)
        for model in models:
            model.begin(with_alignment=layout.layout.alignment is not None or heatmaps.wanted)
        sums = bool(options.compat) and PROGRAMS[options.compat].sums
        weights = weights_of(options.weights, len(models), sums=sums) if together else ()
        with heatmaps, LineWriter(options.output) as writer:
            try:
                scoring = Scoring(models, weights, layout, options)
                _score(pairs, writer, scoring, heatmaps, options)
            finally:
                for model in models:
                    model.source.report()


def _pairs(options: ScoreOptions) -> Pairs:
    """What is to be scored. Raises UsageError where the options do not say it."""
    sources, targets = options.source, options.target
    if options.n_best:
        if not sources or targets:
            raise UsageError("--n-best LIST needs --source, and no --target: the list has them")
        if options.n_best in sources:
            raise UsageError(f"--n-best and --source are both {options.n_best}")
        return NBestList(sources, options.n_best)
    if not sources and len(targets) == 2:  # Marian's -t SRC TRG
        sources, targets = targets[:1], targets[1:]
    if not sources:
        if len(targets) > 1:
            raise UsageError("name the source: cgru score -m MODEL -s SRC -t TRG")
        return TabSeparated(*(targets or (None,)))
    targets = targets or ("-",)
    if "-" in sources and "-" in targets:
        raise UsageError("source and target are both standard input; name a file for one of them")
    return TwoTexts(sources, targets)


def _layout(options: ScoreOptions, readers: Sequence[SourceReader], columns: int) -> ScoreLayout:
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
    return ScoreLayout(layout, columns, options.n_best_feature)


class ModelScorer:
    """A model, how it reads both sides, and its forced decoding."""

    def __init__(
        self, reader: SourceReader, preprocessing: Preprocessing | None, options: ScoreOptions
    ):
        self.reader, self._preprocessing, self._options = reader, preprocessing, options
        encode = not options.no_spm_encode
        self._tokenize = reader.target.tokenize if encode else tokens
        self.source = SourceLines(reader, preprocessing, encode=encode, longest=options.max_length)
        s = reader.model.structure
        # of a target word: logits, their exponentials and a copy; states and what is read of them
        per_token = 4.0 * (3 * s.target_vocabulary + 24 * s.state + 8 * s.context)
        self.max_tokens = max(1, int(options.workspace * 2**20 / per_token))

    def begin(self, *, with_alignment: bool) -> None:
        """Make the network ready, with the memory of the arrays as they were read given back."""
        from .network import Network
        from .scorer import Scorer

        model = self.reader.model
        network = Network(model.structure, model.arrays, self._options.precision)
        model.arrays = {}
        self._scorer = Scorer(network, with_alignment=with_alignment)

    def target_words(self, line: str, number: int) -> list[str]:
        """The words of a translation (of line `number`, from 0) in the order of writing.

        Raises CgruError for one that is too long: cut, it would be another translation.
        """
        words = self._tokenize(prepared(self._preprocessing, line, "target", number))
        longest = self._options.max_length
        if len(words) > longest:
            raise CgruError(
                f"line {number + 1}: the translation has {len(words)} words; --max-length "
                f"{len(words)} allows it, if there is memory"
            )
        return words[::-1] if self.reader.model.settings.right_left else words

    def __call__(
        self, numbers: Sequence[int], sources: Sequence[list[str]], targets: Sequence[list[str]]
    ) -> Scores:
        """Score a batch: words of both sides of each line."""
        reader = self.reader
        ids = [reader.ids(words, n) for words, n in zip(sources, numbers, strict=True)]
        source, source_mask = padded(ids, len(reader.sources))
        target, mask = padded([[(i,) for i in reader.target.encode(words)] for words in targets])
        return self._scorer(source, source_mask, target[..., 0], mask)


@dataclass
class Line:
    """A pair as one model reads it."""

    source: list[str]
    target: list[str]


class Scoring:
    """Pairs in, their scores as text out; of several models side by side or as an ensemble."""

    def __init__(
        self,
        models: Sequence[ModelScorer],
        weights: Sequence[float],
        layout: ScoreLayout,
        options: ScoreOptions,
    ):
        """weights: of the ensemble's models; none for a column each."""
        self.models, self.weights = models, weights
        self._layout, self._alpha = layout, options.normalize or 0.0
        self._alone = not weights
        self.columns = len(models) if self._alone else 1
        self._with_members = bool(options.heatmap) and len(models) > 1
        self._with_mean = bool(weights) and bool(options.heatmap or layout.layout.alignment)
        self._costs = np.zeros(self.columns)  # nats, float64
        self._words = np.zeros(len(self._costs), np.int64)
        self._pairs = 0

    def read(self, pair: Pair, number: int) -> list[Line]:
        """A pair (counted from 0) as each model reads it.

        Raises CgruError where a mean of the models' attention is wanted and they read other words.
        """
        lines = [
            Line(model.source.words(pair.source, number), model.target_words(pair.target, number))
            for model in self.models
        ]
        if self._with_mean and any(line.source != lines[0].source for line in lines):
            raise CgruError(
                f"line {number + 1}: the models cut the source into different words, so that "
                "their attention has no mean; score with one after the other"
            )
        return lines

    def batch(self, numbers: Sequence[int], lines: Sequence[list[Line]]) -> list[list[Hypothesis]]:
        """Scored translations: of each model, or of all together, then each to be drawn too."""
        columns = []
        for m, model in enumerate(self.models):
            own = [line[m] for line in lines]
            columns.append(model(numbers, [o.source for o in own], [o.target for o in own]))
        shown = list(enumerate(columns))
        if not self._alone:
            mean = (0, _together(columns, self.weights))
            shown = [mean, *shown] if self._with_members else [mean]
        return [
            [self._hypothesis(line[m], scores, row) for m, scores in shown]
            for row, line in enumerate(lines)
        ]

    def text(self, number: int, line: list[Line], pair: Pair, scored: list[Hypothesis]) -> str:
        """What is printed of a pair."""
        if pair.entry:
            return self._layout.entry(pair.entry, scored)
        return self._layout.pair(number, self._surface(0, line), scored)

    def views(self, line: list[Line], scored: list[Hypothesis]) -> list[View]:
        """What a heat map shows of a pair: all that `batch` gave of it."""
        names = model_names([str(model.reader.model.path) for model in self.models])
        shown = [(m, name, (1.0,)) for m, name in enumerate(names)]
        if not self._alone:
            together = MEAN if len(names) > 1 else names[0]
            shown = [(0, together, self.weights), *(shown if self._with_members else ())]
        return [
            View.of(
                name, self._surface(m, line), hypothesis,
                right_left=self.models[m].reader.model.settings.right_left, model_weights=weights,
            )
            for (m, name, weights), hypothesis in zip(shown, scored, strict=True)
        ]  # fmt: skip

    def _surface(self, m: int, line: list[Line]) -> list[str]:
        """The source as model m reads it, without factors."""
        has_factors = len(self.models[m].reader.sources) > 1
        return [w.split("|")[0] for w in line[m].source] if has_factors else line[m].source

    def add(self, scored: Sequence[Hypothesis]) -> None:
        """Count a pair for the summary."""
        self._costs -= [hypothesis.score for hypothesis in scored]
        self._words += [len(hypothesis.tokens) + 1 for hypothesis in scored]
        self._pairs += 1

    def summary(self, kind: str) -> str:
        """One number a column. Raises CgruError where there are no pairs to take a mean of."""
        if not self._pairs and kind != "ce-sum":
            raise CgruError("no pairs: there is no mean of their scores")
        return " ".join(
            f"{_summarised(kind, cost, self._pairs, words):.6f}"
            for cost, words in zip(self._costs, self._words, strict=True)
        )

    def _hypothesis(self, line: Line, scores: Scores, row: int) -> Hypothesis:
        length = len(line.target) + 1
        words = scores.log_probs[row, :length]
        score = float(np.sum(words, dtype=np.float64))
        alignment = scores.alignment
        if alignment is not None:
            alignment = alignment[row, :length, : len(line.source) + 1]
        return Hypothesis(
            line.target,
            True,
            score,
            score / length**self._alpha,
            words.tolist(),
            (score,),
            alignment,
        )


def _together(columns: Sequence[Scores], weights: Sequence[float]) -> Scores:
    """An ensemble's scores: weighted sums of log-probabilities, the mean of the attentions."""
    log_probs = sum(w * scores.log_probs for w, scores in zip(weights, columns, strict=True))
    alignment = None
    if columns[0].alignment is not None:
        alignment = np.mean([scores.alignment for scores in columns], axis=0, dtype=np.float32)
    return columns[0]._replace(log_probs=log_probs, alignment=alignment)


def _summarised(kind: str, cost: float, pairs: int, words: int) -> float:
    if kind == "ce-sum":
        return cost
    if kind in ("ce-mean", "cross-entropy"):
        return cost / pairs
    mean = cost / words
    return mean if kind == "ce-mean-words" else math.exp(mean) if mean < 700 else math.inf


def _score(
    pairs: Pairs,
    writer: LineWriter,
    scoring: Scoring,
    heatmaps: Heatmaps,
    options: ScoreOptions,
) -> None:
    """All pairs, in windows."""
    in_order = InOrder()
    progress = Counter("pairs", options.quiet)
    max_tokens = min(model.max_tokens for model in scoring.models)
    start = 0
    for window in pairs.windows(options.mini_batch, options.maxi_batch):
        lines = [scoring.read(pair, start + i) for i, pair in enumerate(window)]
        sizes = [max(max(len(one.source), len(one.target)) for one in line) + 1 for line in lines]
        for batch in batches(sizes, options.mini_batch, max_tokens):
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
    if options.summary:
        writer.write(f"{scoring.summary(options.summary)}\n")
