"""Turn the results of a search into translations: words, text, scores, attention, heat maps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import warn
from ..formats.loaded_model import LoadedModel
from ..output.heatmap.view import MEAN, View, model_names
from ..output.hypothesis import Hypothesis, view_of
from ..output.layout import Layout
from ..parameters.program import Program
from ..text import subwords, unknown_words
from ..text.offsets import offsets
from .expected_utility import ranked
from .phrases import PreparedLine
from .plan import SearchPlan

if TYPE_CHECKING:
    from ..search.hypotheses import SearchResult
    from ..search.scoring import Members
    from ..search.settings import SearchSettings


class Translation(NamedTuple):
    """A line of input, or a part of one, and its translations."""

    number: int  # of the line, counted from 0
    part: int  # of the line, likewise
    source: Sequence[str]  # words as the model reads them, without factors
    factored: Sequence[str]  # the same words with their factors
    hypotheses: list[Hypothesis]  # best first, words in the order of writing
    words: Sequence[int]  # ids of the best hypothesis, with EOS if it is finished
    empty: bool = False  # the line has no words

    def without_attention(self) -> Translation:
        """The translation as that of joined parts, whose attention only filters need."""
        hypotheses = [
            one._replace(alignment=None, offsets=(), source_offsets=()) for one in self.hypotheses
        ]
        return self._replace(hypotheses=hypotheses)


class Results:
    """Makes translations from the results of a search."""

    def __init__(
        self,
        plan: SearchPlan,
        models: Sequence[LoadedModel],
        source: LoadedModel,
        members: Members | None,
    ):
        """source: the model whose source words to show; members: scores each model's heat map."""
        self._plan, self._models, self._source = plan, models, source
        self._channel, self._members = plan.channel, members
        target = models[0].target
        self._target = target.with_unk(plan.unk) if plan.unk else target

    def translations(
        self, lines: Iterable[tuple[PreparedLine, Sequence[SearchResult]]]
    ) -> Iterator[Translation]:
        """The translations of lines as their searches end, ranked by the noisy channel if any."""
        if self._channel is None or self._channel.within_beam:
            yield from (self.translation(*one) for one in lines)
            return
        waiting = iter(lines)
        while batch := list(islice(waiting, self._plan.mini_batch)):
            translations = [self.translation(*one) for one in batch]
            lists = self._channel.scored(
                [line for line, _ in batch],
                [translation.hypotheses for translation in translations],
            )
            for (_, results), one, scored in zip(batch, translations, lists, strict=True):
                ranked = sorted(zip(scored, results, strict=True), key=lambda two: -two[0].total)
                best = ranked[0][1].words.tolist() if ranked else ()
                yield one._replace(hypotheses=[hypothesis for hypothesis, _ in ranked], words=best)

    def translation(
        self,
        line: PreparedLine,
        results: Sequence[SearchResult],
        settings: SearchSettings | None = None,
    ) -> Translation:
        """The translations of one line; no translations for an empty line, even with Nematus-TF.

        settings: of the search, by default the plan's.
        """
        if line.empty:
            return self.empty(line)
        if line.constraints and not results:
            warn(f"line {line.number + 1}: no translation satisfies the constraints")
        source = self._source.without_factors(line.source)
        places: list[int] = []  # of the source's words
        if self._plan.offsets and results and results[0].alignment is not None:
            places = offsets([*map(line.undo, source)], line.text)
        hypotheses = [self._hypothesis(result, source, places, line) for result in results]
        if self._channel and self._channel.within_beam:
            hypotheses = [
                self._channel.featured(one, len(line.source) + 1, result.channel, result.lm)
                for one, result in zip(hypotheses, results, strict=True)
            ]
        settings = settings or self._plan.settings
        if settings.utility and results:
            texts = [one.text for one in hypotheses]
            sampled = settings.sampling is not None
            best = ranked(hypotheses, texts, settings.utility, sampled=sampled)
            hypotheses = [hypotheses[place]._replace(total=total) for place, total in best]
            results = [results[place] for place, _ in best]
        words = results[0].words.tolist() if results else ()
        return Translation(line.number, line.part, source, line.source, hypotheses, words)

    def empty(self, line: PreparedLine) -> Translation:
        """The translation of a line without words."""
        nothing = Hypothesis((), True, 0.0, 0.0, model_scores=(0.0,) * len(self._plan.weights))
        nothing = nothing._replace(detokenized="")
        if self._channel:
            nothing = self._channel.featured(nothing, 1, 0.0, 0.0)
        return Translation(line.number, line.part, (), (), [nothing], (), True)

    def views(self, translation: Translation) -> list[View]:
        """The heat maps of a line's best translation: the mean, then every model with attention."""
        if not translation.hypotheses or translation.empty:
            return []
        hypothesis = translation.hypotheses[0]
        right_left, weights = self._plan.layout.right_left, self._plan.weights
        names = model_names([str(loaded.model.path) for loaded in self._models])
        name = MEAN if self._members else names[0]
        view = partial(view_of, right_left=right_left, labels=not self._models[0].writes_text)
        views = [view(name, hypothesis, model_weights=weights)]
        if self._members is None:
            return views
        numbers = [translation.number]
        sources = [one.source_batch([translation.factored], numbers) for one in self._models]
        of_models = self._members(sources, translation.words)
        for name, loaded, scores in zip(names, self._models, of_models, strict=True):
            if scores.alignment is None:  # such as a language model
                continue
            attention = loaded.in_source_order(scores.alignment, len(hypothesis.source))
            own = hypothesis._replace(word_scores=scores.log_probs, alignment=attention)
            views.append(view(name, own))
        return views

    def _hypothesis(
        self,
        result: SearchResult,
        source: Sequence[str],
        source_places: Sequence[int],
        line: PreparedLine,
    ) -> Hypothesis:
        """The hypothesis of a result; source: its words without factors, and their offsets."""
        right_left = self._plan.layout.right_left
        ids = result.words[:-1] if result.finished else result.words
        words = self._target.decode(int(i) for i in ids)
        own, word_scores = result.model_word_scores, result.word_scores
        if self._plan.options.compat == Program.NEMATUS and own.shape[1] > 1:
            # Nematus prints the mean of the models' probabilities
            word_scores = np.logaddexp.reduce(own, axis=1) - math.log(own.shape[1])
        alignment = result.alignment
        if alignment is not None:
            alignment = self._source.in_source_order(alignment, len(source))
            if self._plan.options.unk_replace:
                words = unknown_words.replace_unknown(
                    words, alignment, source, self._target.unk, self._plan.lexicon
                )
        read = words[::-1] if right_left else words
        text = line.undo(self.text(read) if read else "")
        places: list[int] = []
        if self._plan.offsets and alignment is not None:
            places = offsets([*map(line.undo, read)], text)
        return Hypothesis(
            words,
            bool(result.finished),
            result.score,
            result.total,
            word_scores,
            own.sum(axis=0).tolist(),
            alignment,
            text,
            source=source,
            offsets=places[::-1] if right_left else places,
            source_offsets=source_places,
        )

    def text(self, words: Sequence[str]) -> str:
        """Words in reading order as text."""
        if not self._models[0].writes_text:
            return " ".join(words)
        options, preprocessing = self._plan.options, self._plan.reading.preprocessing
        text = " ".join(words) if options.no_spm_decode else self._target.detokenize(words)
        if preprocessing:
            return preprocessing.undo(text, "target")
        return subwords.join_bpe(text) if options.join_bpe else text


def rendered(layout: Layout, translation: Translation, apart: bool) -> tuple[str, str]:
    """The text of a line, and its alignments ("" unless they go to a separate file, `apart`)."""
    number, hypotheses = translation.number, translation.hypotheses
    source = translation.factored if layout.shows_factors else translation.source
    if translation.empty and (apart or not layout.writes_objects):
        return layout.empty_line(number, hypotheses[0]), ""
    if apart:
        return layout.render_apart(number, source, hypotheses)
    return layout.render(number, source, hypotheses), ""
