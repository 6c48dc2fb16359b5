"""`cgru score`: scores of given translations, pair after pair in the order of the input.

Pairs are read as they come, sorted by length within a window, scored in batches, and written as
soon as their turn has come.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import evaluation, runtime
from .corpus_filter import Bounds, dual_cross_entropy
from .counter import Counter, tell
from .errors import CgruError, UsageError
from .lines import InOrder, LineWriter, batches, tokens
from .output import Hypothesis, Layout
from .pairs import Pair, Pairs
from .plan import alignment_of, weights_of
from .programs import PROGRAMS
from .score_options import ScoreOptions
from .score_output import ScoreLayout
from .score_request import check, pairs_of
from .translator import (
    SourceLines,
    SourceReader,
    check_ensemble,
    padded,
    prepared,
    preprocessing_of,
)
from .tuner import Ranking

if TYPE_CHECKING:
    from .preprocessing import Preprocessing
    from .reranking import Writer
    from .scorer import Scores


def run(options: ScoreOptions) -> None:
    """Score as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    if options.metric and options.tune is None:
        evaluation.run(options)
        return
    check(options)
    with pairs_of(options) as pairs:
        ranking = Ranking.asked(options)
        if options.model:
            _with_models(pairs, ranking, options)
            return
        with LineWriter(options.output) as writer:
            ranked = ranking.to(writer)
            for window in pairs.windows(options.mini_batch, options.maxi_batch):
                ranked.write("".join(f"{pair.entry}\n" for pair in window))
            ranked.close(pairs.sentences())


def _with_models(pairs: Pairs, ranking: Ranking | None, options: ScoreOptions) -> None:
    """Score all pairs; print them, or hand the list with its new features on to be ranked."""
    if ranking:
        options = dataclasses.replace(options, normalize=None)  # what is ranked is divided, later
    together = options.ensemble or bool(options.weights)
    columns = 1 if together else len(options.model)
    starting = runtime.Start()
    readers = [SourceReader.of(path, options.vocabularies) for path in options.model]
    weights: tuple[float, ...] = ()
    if together:
        check_ensemble(readers)
        sums = bool(options.compat) and PROGRAMS[options.compat].sums
        weights = weights_of(options.weights, options.model, sums=sums)
    layout = _layout(options, readers, columns)
    models = _scorers(readers, options)
    backward = None
    if options.dual:
        (backward,) = _scorers([SourceReader.of(options.dual, options.vocabularies[::-1])], options)
    every = [*models, *filter(None, [backward])]
    starting.finish(options.device, options.cpu_threads)
    for model in every:
        model.begin(with_alignment=layout.layout.alignment is not None)
    with LineWriter(options.output) as writer:
        output = ranking.to(writer) if ranking else writer
        try:
            _score(pairs, output, Scoring(models, weights, layout, options, backward), options)
        finally:
            for model in every:
                model.source.report()
        if ranking:
            output.close(pairs.sentences())


def _scorers(readers: Sequence[SourceReader], options: ScoreOptions) -> list[ModelScorer]:
    """Models that read the same text."""
    asked = {"--no-spm-encode": options.no_spm_encode}
    preprocessing = None if options.no_preprocess else preprocessing_of(readers, asked)
    return [ModelScorer(reader, preprocessing, options) for reader in readers]


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
    return ScoreLayout(layout, columns, options.n_best_feature, digits=bool(options.dual))


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
        backward: ModelScorer | None = None,
    ):
        """weights: of the ensemble's models; none for a column each. backward: of --dual."""
        self.models, self.weights, self._backward = models, weights, backward
        self._bounds = Bounds(options.keep_above, options.keep_below)
        self._layout, self._alpha = layout, options.normalize or 0.0
        self._alone = not weights
        self._costs = np.zeros(len(models) if self._alone else 1)  # nats, float64
        self._words = np.zeros(len(self._costs), np.int64)
        self._pairs = self._kept = 0

    @property
    def max_tokens(self) -> int:
        """Padded words that a batch may have."""
        return min(m.max_tokens for m in (*self.models, self._backward) if m)

    def read(self, pair: Pair, number: int) -> list[Line]:
        """A pair (counted from 0) as each model reads it, the backward one last."""
        lines = [
            Line(model.source.words(pair.source, number), model.target_words(pair.target, number))
            for model in self.models
        ]
        if model := self._backward:
            words = model.source.words(pair.target, number)
            lines.append(Line(words, model.target_words(pair.source, number)))
        return lines

    def batch(self, numbers: Sequence[int], lines: Sequence[list[Line]]) -> list[list[Hypothesis]]:
        """Scored translations of some pairs: a column for each model, or one for all."""
        columns = [
            _scored(model, numbers, [line[m] for line in lines])
            for m, model in enumerate(self.models)
        ]
        if not self._alone:
            columns = [_together(columns, self.weights)]
        hypotheses = [
            [self._hypothesis(line[m], scores, row) for m, scores in enumerate(columns)]
            for row, line in enumerate(lines)
        ]
        if self._backward:
            scores = _scored(self._backward, numbers, [line[-1] for line in lines])
            for row, (line, columns) in enumerate(zip(lines, hypotheses, strict=True)):
                backward = self._hypothesis(line[-1], scores, row)
                both = dual_cross_entropy(_a_word(columns[0]), _a_word(backward))
                columns[:] = [columns[0]._replace(total=both)]
        return hypotheses

    def text(self, number: int, line: list[Line], pair: Pair, scored: list[Hypothesis]) -> str:
        """What is printed of a pair."""
        if pair.entry:
            return self._layout.entry(pair.entry, scored)
        if self._bounds.given:
            kept = self._bounds.line(pair, number, self._layout.number(scored[0].total))
            self._kept += bool(kept)
            self._pairs += 1
            return kept
        has_factors = len(self.models[0].reader.sources) > 1
        source = line[0].source
        surface = [word.split("|")[0] for word in source] if has_factors else source
        return self._layout.pair(number, surface, scored)

    def report(self, quiet: bool) -> None:
        """Say how many pairs were kept, where not all are."""
        if self._bounds.given:
            tell(f"{self._kept:,} of {self._pairs:,} pairs kept", quiet)

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


def _scored(model: ModelScorer, numbers: Sequence[int], lines: Sequence[Line]) -> Scores:
    return model(numbers, [line.source for line in lines], [line.target for line in lines])


def _a_word(hypothesis: Hypothesis) -> float:
    """Cross-entropy, nats a word, EOS counted."""
    return -hypothesis.score / (len(hypothesis.tokens) + 1)


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


def _score(pairs: Pairs, writer: Writer, scoring: Scoring, options: ScoreOptions) -> None:
    """All pairs, in windows."""
    in_order = InOrder()
    progress = Counter("pairs", options.quiet)
    max_tokens = scoring.max_tokens
    start = 0
    for window in pairs.windows(options.mini_batch, options.maxi_batch):
        lines = [scoring.read(pair, start + i) for i, pair in enumerate(window)]
        sizes = [max(max(len(one.source), len(one.target)) for one in line) + 1 for line in lines]
        for batch in batches(sizes, options.mini_batch, max_tokens):
            numbers = [start + i for i in batch]
            scored = scoring.batch(numbers, [lines[i] for i in batch])
            for i, of_pair in zip(batch, scored, strict=True):
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
