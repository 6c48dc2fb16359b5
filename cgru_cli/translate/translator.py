"""Batches of source lines in, rendered translations out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import CgruError
from ..formats.loaded_model import LoadedModel
from ..options.translate import TranslateOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..output.heatmap.view import MEAN, View, model_names
from ..output.hypothesis import Hypothesis
from ..system.lines import tokens
from ..text import subwords, unknown_words
from ..text.source_words import SourceLines, pad_ids, prepared
from .plan import SearchPlan, sampling_of

if TYPE_CHECKING:
    from ..search.ensemble import Ensemble
    from ..search.hypotheses import SearchBatch, SearchResult, SearchSettings
    from ..text.pipeline import Preprocessing


class Request(NamedTuple):
    """A line of input: the words of its source, and those that its translation begins with."""

    source: list[str]
    prefix: list[int]  # ids


class Translator:
    """Batches of lines in, rendered text out."""

    def __init__(
        self,
        options: TranslateOptions,
        plan: SearchPlan,
        models: list[LoadedModel],
        preprocessing: Preprocessing | None = None,
        heatmaps: Heatmaps | None = None,
    ):
        from ..network.network import Network
        from ..network.scorer import Members
        from ..search.ensemble import Ensemble
        from ..search.hypotheses import SearchSettings

        self.plan, self.models = plan, models
        self.heatmaps = heatmaps or Heatmaps(None)
        self.target = models[0].target
        self.preprocessing = preprocessing
        reading = [r for r in models if r.model.structure.type.reads_source]
        self.generates = not reading  # texts of a language model, with no source
        self._first = (reading or models)[0]
        networks = []
        for reader in models:
            model = reader.model
            network = Network(model.structure, model.arrays, options.precision, packed=True)
            networks.append(network)
            model.arrays = {}  # held by the network, in the form it multiplies
        self.decoder: Ensemble = Ensemble(networks, plan.weights)
        several = self.heatmaps.wanted and len(networks) > 1
        self._members = Members(networks) if several else None
        self.settings: SearchSettings = SearchSettings(
            beam_size=plan.beam_size,
            normalize=plan.normalize,
            word_penalty=plan.word_penalty,
            unk=self.target.unk_id if plan.suppress_unk else None,
            best_only=not options.n_best and min(plan.weights) >= 0,
            with_alignment=plan.with_alignment,
        )
        self.sampling = sampling_of(options)
        self.lexicon = unknown_words.read_lexicon(options.lexicon) if options.lexicon else None
        self.lines = SourceLines(
            self._first.tokenizer(
                not options.no_spm_encode, str.split if plan.search == "nematus-tf" else tokens
            ),
            preprocessing,
            longest=options.max_length,
        )
        decode_pieces = not options.no_spm_decode

        def join(words: Sequence[str]) -> str:
            text = self.target.detokenize(words) if decode_pieces else " ".join(words)
            if preprocessing:
                return preprocessing.undo(text, "target")
            return subwords.join_bpe(text) if options.join_bpe else text

        self.layout = dataclasses.replace(plan.layout, join=join)
        from ..search.beam import max_tokens_of

        self.max_tokens = max_tokens_of(
            options.workspace, plan.beam_size, [r.model.structure for r in models]
        )

    def read(self, line: str, number: int) -> Request:
        """A line (counted from 0) as the models read it.

        Raises CgruError where it cannot be prepared, or is the source of a language model.
        """
        prefix = ""
        if self.plan.options.force_decode:
            line, tab, prefix = line.partition("\t")
            if self.generates:
                line, prefix = "", line + tab + prefix
        if self.generates and line:
            raise CgruError(
                f"line {number + 1}: {self._first.model.path} is a language model and translates "
                "nothing; with --force-decode its texts go on from the lines, from empty lines "
                "they are its own"
            )
        words = self.lines.words(line, number)
        tokenize = tokens if self.plan.options.no_spm_encode else self.target.tokenize
        prefix = tokenize(prepared(self.preprocessing, prefix, "target", number)) if prefix else []
        return Request(words, self.target.encode(prefix))

    def translate(
        self, batches: Iterable[Sequence[tuple[int, Request]]]
    ) -> Iterator[tuple[int, tuple[str, str]]]:
        """Lines, each with its number, batch by batch.

        Yields, as they get ready, number and (text, alignments in a file of their own). What is
        found for an empty line is not shown.
        """
        begun: list[tuple[int, Request]] = []

        def beginning() -> Iterator[SearchBatch]:
            for lines in batches:
                begun.extend(lines)
                yield self._begin(lines)

        for place, found in self._search(beginning(), begun):
            number, line = begun[place]
            if not line.source and not self.generates:
                yield number, self.empty(number)
                continue
            if self.heatmaps.wants(number):
                self.heatmaps.add(number, self._views(number, line.source, found))
            yield number, self.render(number, line.source, found)

    def _begin(self, lines: Sequence[tuple[int, Request]]) -> SearchBatch:
        from ..search.hypotheses import SearchBatch

        lengths = [len(line.source) + 1 for _, line in lines]
        return SearchBatch(
            self.decoder.begin(self._sources([(number, line.source) for number, line in lines])),
            lengths,
            [
                self.plan.limit(length) + len(line.prefix)
                for length, (_, line) in zip(lengths, lines, strict=True)
            ],
            [line.prefix for _, line in lines],
        )

    def _sources(
        self, lines: Sequence[tuple[int, Sequence[str]]]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Numbered lines as each model reads them: ids and mask."""
        return [
            pad_ids(
                [reader.ids(words, number) if reader.sources else [] for number, words in lines],
                len(reader.sources),
            )
            for reader in self.models
        ]

    def _search(
        self, batches: Iterable[SearchBatch], begun: Sequence[tuple[int, Request]]
    ) -> Iterator[tuple[int, list[SearchResult]]]:
        from ..search.beam import shrinking_beam
        from ..search.nematus_tf_beam import nematus_tf_beam
        from ..search.sampling import sample

        if not self.sampling and self.plan.search != "nematus-tf":
            yield from shrinking_beam(batches, self.settings)
            return
        done = 0
        for batch in batches:
            if self.sampling:
                numbers = [number for number, _ in begun[done:]]
                lists = sample(batch, self.settings, self.sampling, numbers)
            else:
                lists = nematus_tf_beam(batch, self.settings)
            yield from enumerate(lists, done)
            done += len(lists)

    def render(
        self, number: int, source: Sequence[str], results: Sequence[SearchResult]
    ) -> tuple[str, str]:
        """The text of one line."""
        surface = self._surface(source)
        hypotheses = [self._hypothesis(found, surface) for found in results]
        if self.plan.options.output_alignment:
            return self.layout.render_apart(number, surface, hypotheses)
        return self.layout.render(number, surface, hypotheses), ""

    def _views(
        self, number: int, source: Sequence[str], results: Sequence[SearchResult]
    ) -> list[View]:
        """What a heat map shows of a line's best translation."""
        if not results:
            return []
        best, surface = results[0], self._surface(source)
        hypothesis = self._hypothesis(best, surface)
        names = model_names([str(reader.model.path) for reader in self.models])
        mean = View.of(
            MEAN if self._members else names[0], surface, hypothesis,
            right_left=self.layout.right_left, model_weights=self.plan.weights,
        )  # fmt: skip
        if not self._members:
            return [mean]
        of_models = self._members(self._sources([(number, source)]), best.words)
        return [mean] + [
            View.of(
                name, surface,
                hypothesis._replace(word_scores=scores.log_probs, alignment=scores.alignment),
                right_left=self.layout.right_left,
            )
            for name, scores in zip(names, of_models, strict=True)
        ]  # fmt: skip

    def _surface(self, source: Sequence[str]) -> Sequence[str]:
        """Source words without factors."""
        has_factors = len(self._first.sources) > 1
        return [word.split("|")[0] for word in source] if has_factors else source

    def empty(self, number: int) -> tuple[str, str]:
        """An empty line gives an empty line (in n-best lists, one empty hypothesis)."""
        if self.heatmaps.wants(number):
            self.heatmaps.add(number, [])
        hypothesis = Hypothesis((), True, 0.0, 0.0, (), (0.0,) * len(self.models), None)
        if not self.layout.n_best:
            return "\n", ""
        bare = dataclasses.replace(self.layout, alignment=None, word_scores=False)
        return bare.render(number, [], [hypothesis]), ""

    def _hypothesis(self, found: SearchResult, source: Sequence[str]) -> Hypothesis:
        ids = found.words[:-1] if found.finished else found.words
        words = self.target.decode(int(i) for i in ids)
        if self.plan.options.unk_replace and found.alignment is not None:
            words = unknown_words.replace_unknown(
                words, found.alignment, source, {self.target.unk}, self.lexicon
            )
        return Hypothesis(
            words,
            found.finished,
            found.score,
            found.total,
            found.word_scores.tolist(),
            found.model_scores.tolist(),
            found.alignment,
        )
