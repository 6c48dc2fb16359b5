"""Lines of text in, their translations out."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import CgruError, warn
from ..formats.loaded_model import LoadedModel, ModelSource, loaded_models
from ..formats.shortlist import union
from ..options.translate import TranslateOptions
from ..output.heatmap.view import MEAN, View, model_names
from ..output.hypothesis import Hypothesis
from ..parameters.structure import Type
from ..system import tensorflow_start
from ..system.windows import batches
from ..text import subwords, unknown_words
from . import noisy_channel
from .nematus_tf_batches import nematus_tf_batches
from .plan import SearchPlan
from .requests import Request, RequestReader

if TYPE_CHECKING:
    from ..search.hypotheses import SearchBatch, SearchResult
    from ..search.noisy_channel import ChannelRanking
    from ..search.settings import SearchSettings

# Options of the command's files, and of what it prints.
PRINTED = (
    "config", "input", "output", "quiet", "n_best", "word_scores", "alignment", "alignment_format",
    "json_alignment", "output_alignment", "heatmap", "heatmap_lines", "model", "n_best_size", "log",
    "dump_config", "interpolate_env_vars", "relative_paths", "model_is",
)  # fmt: skip


class Translation(NamedTuple):
    """A line of input, counted from 0, and its translations."""

    number: int
    source: Sequence[str]  # the words as the model reads them, without factors
    factored: Sequence[str]  # the same with their factors
    hypotheses: list[Hypothesis]  # the best first, words in the order of writing
    words: Sequence[int]  # ids of the best one's words, EOS among them if it is finished
    empty: bool = False  # the line has no words: there was nothing to translate


class Translator:
    """Lines in, translations out, by one model or an ensemble."""

    def __init__(self, plan: SearchPlan, models: Sequence[LoadedModel]):
        """models: of the plan; their arrays go into the networks, and are gone from the models."""
        from ..network.network import take_over
        from ..network.scorer import Members
        from ..search.beam import max_tokens_of, mebibytes_of_word
        from ..search.ensemble import Ensemble
        from ..search.settings import Sampling, SearchSettings

        stepped = plan.channel.stepped if plan.channel else []
        models, weights = [*models, *stepped], (*plan.weights, *(0.0 for _ in stepped))
        self.plan, self.models = plan, models
        self.target = models[0].target
        reading = [loaded for loaded in models if loaded.reads_source]
        self._first = (reading or models)[0]
        # an empty line gets a text of a language model, or a label, too
        self._takes_empty = not reading or models[0].model.structure.type is Type.CLASSIFIER
        self.networks = [take_over(loaded.model, plan.precision) for loaded in models]
        self._ensemble = Ensemble(self.networks, weights)
        self._members = Members(self.networks) if plan.of_members else None
        self.settings = SearchSettings(
            beam_size=plan.beam_size,
            normalize=plan.normalize,
            word_penalty=plan.word_penalty,
            unk=self.target.unk_id if plan.suppress_unk else None,
            with_alignment=plan.with_alignment,
        )
        self._channel = None
        if plan.channel:
            self._channel = noisy_channel.ChannelScorer(
                plan.channel, self._first, self.settings, plan.weights, workspace=plan.workspace,
                precision=plan.precision,
            )  # fmt: skip
        self._sampling = Sampling(*plan.sampling) if plan.sampling else None
        self.requests = RequestReader(plan, models[0], self._first)
        structures = [loaded.model.structure for loaded in models]
        needed = mebibytes_of_word(plan.beam_size, structures)
        if needed > plan.workspace:
            raise CgruError(
                f"--beam-size {plan.beam_size}: a word takes {math.ceil(needed)} MiB in this "
                f"search, --workspace is {plan.workspace}; give it more, or make the beam smaller"
            )
        self.max_tokens = max_tokens_of(plan.workspace, plan.beam_size, structures)

    @classmethod
    def of(
        cls,
        models: ModelSource | Sequence[ModelSource],
        vocabularies: Sequence[str] = (),
        *,
        attention: bool = True,
        **options: Any,
    ) -> Translator:
        """A translator by a model, or an ensemble of several.

        models: files of any dialect, or models as `load_model` gives them, which stay as they are.
        vocabularies: files, source (one a factor) then target, where models name none. attention:
        whether hypotheses have it, where the models do. options: those of `cgru translate` by
        their names with "_" for "-", as beam_size=5, normalize=1.0 or device="cpu"; what is not
        given is as the model's program does it.

        Raises CgruError for models that cannot be read or make no ensemble, UsageError for options
        that exclude each other, TypeError for unknown ones.
        """
        if refused := set(options) & set(PRINTED):
            raise TypeError(f"{min(refused)}: an option of files and what is printed in them")
        starting = tensorflow_start.Start(own_process=False)
        loaded = loaded_models(models, vocabularies)
        names = tuple(str(one.model.path) for one in loaded)
        asked = TranslateOptions(model=names, vocabularies=tuple(vocabularies), **options)
        plan = SearchPlan.of(asked, loaded)
        attends = any(one.model.structure.attends for one in loaded)
        plan = dataclasses.replace(plan, with_alignment=plan.unk_replace or (attention and attends))
        starting.finish(asked.device, asked.cpu_threads)
        return cls(plan, loaded)

    def translate(self, lines: Iterable[str]) -> list[Hypothesis]:
        """The best translation of each line, words, scores and attention in reading order.

        An empty line has an empty one; where the search ends nothing, one whose score is -inf.
        Raises CgruError, naming the line, for one that cannot be read.
        """
        nothing = Hypothesis((), False, -math.inf, -math.inf)
        lists = self._read_off(lines, n_best=False)
        return [hypotheses[0] if hypotheses else nothing for hypotheses in lists]

    def n_best(self, lines: Iterable[str]) -> list[list[Hypothesis]]:
        """All translations of each line that the search ends with, best first; see `translate`.

        At most as many as the beam has; of samples, all that were drawn.
        """
        return list(self._read_off(lines, n_best=True))

    def _read_off(self, lines: Iterable[str], *, n_best: bool) -> Iterator[list[Hypothesis]]:
        texts = list(lines)
        window = self.plan.mini_batch * self.plan.maxi_batch
        for start in range(0, len(texts), window):
            ready = self.translations(texts[start : start + window], start, n_best=n_best)
            for one in sorted(ready, key=lambda translation: translation.number):
                turned = self.plan.layout.right_left
                yield [h.reversed() if turned else h for h in one.hypotheses]

    def translations(
        self, lines: Sequence[str], first: int = 0, *, n_best: bool = True
    ) -> Iterator[Translation]:
        """The translations of lines, as they get ready.

        first: the number of the first line; with the seed it decides what is drawn. n_best:
        whether all hypotheses are wanted, else the search may end when the best is certain.
        """
        requests = [self.requests.read(line, first + i) for i, line in enumerate(lines)]
        searched = []
        for i, request in enumerate(requests):
            # Nematus-TF translates empty lines with the others, which their mini-batch may show
            if self.searches_for(request) or self.plan.search == "nematus-tf":
                searched.append(i)
            else:
                yield self.empty(first + i)
        early = not n_best and self._channel is None
        settings = self.ending_early(self.settings) if early else self.settings
        begun: list[tuple[int, Request]] = []

        def beginning() -> Iterator[SearchBatch]:
            for batch in self._batches([len(requests[i].source) for i in searched]):
                numbered = [(first + searched[i], requests[searched[i]]) for i in batch]
                begun.extend(numbered)
                yield self.begin(numbered)

        ended = self._search(beginning(), begun, settings)
        if self._channel is None or self._channel.within_beam:
            yield from (self.translation(*begun[place], results) for place, results in ended)
        else:
            yield from self._ranked((*begun[place], results) for place, results in ended)

    def _ranked(
        self, lines: Iterator[tuple[int, Request, Sequence[SearchResult]]]
    ) -> Iterator[Translation]:
        """The translations of searched lines, ranked by the noisy channel at the end."""
        assert self._channel  # noqa: S101 - for types
        while batch := list(itertools.islice(lines, self.plan.mini_batch)):
            translations = [self.translation(*one) for one in batch]
            sources = [self._line(number, request) for number, request, _ in batch]
            lists = self._channel.scored(
                [(line, one.hypotheses) for line, one in zip(sources, translations, strict=True)]
            )
            for (_, _, results), one, scored in zip(batch, translations, lists, strict=True):
                totals = [hypothesis.total for hypothesis in scored]
                order = sorted(range(len(totals)), key=totals.__getitem__, reverse=True)
                best = results[order[0]].words.tolist() if order else ()
                yield one._replace(hypotheses=[scored[i] for i in order], words=best)

    def _ranking(self, begun: Sequence[tuple[int, Request]]) -> ChannelRanking | None:
        """The noisy channel's ranking in the beam, for the lines that have begun; None without."""
        if not (self._channel and self._channel.within_beam):
            return None

        def line(place: int) -> noisy_channel.Line:
            return self._line(*begun[place])

        return self._channel.ranking(line)

    @staticmethod
    def _line(number: int, request: Request) -> noisy_channel.Line:
        return noisy_channel.Line(number, request.source, request.text)

    def ending_early(self, settings: SearchSettings) -> SearchSettings:
        """The settings of a search for the best translation only, which may end sooner."""
        return dataclasses.replace(settings, best_only=min(self.plan.weights) >= 0)

    def translation(
        self, number: int, request: Request, results: Sequence[SearchResult]
    ) -> Translation:
        """The translations of one line."""
        if not self.searches_for(request):
            return self.empty(number)
        if request.constraints and not results:
            warn(f"line {number + 1}: no translation has what is required without what is avoided")
        source = self._first.without_factors(request.source)
        hypotheses = [self._hypothesis(result, source) for result in results]
        if self._channel and self._channel.within_beam:
            hypotheses = [
                self._channel.featured(one, len(request.source) + 1, result.channel, result.lm)
                for one, result in zip(hypotheses, results, strict=True)
            ]
        words = results[0].words.tolist() if results else ()
        return Translation(number, source, request.source, hypotheses, words)

    def searches_for(self, request: Request) -> bool:
        """Whether a line is searched for; the translation of an empty one is `empty`."""
        return bool(request.source) or self._takes_empty

    def empty(self, number: int) -> Translation:
        """The translation of an empty line."""
        nothing = Hypothesis((), True, 0.0, 0.0, model_scores=(0.0,) * len(self.plan.weights))
        if self._channel:
            nothing = self._channel.featured(nothing, 1, 0.0, 0.0)
        return Translation(number, (), (), [nothing], (), True)

    def views(self, translation: Translation) -> list[View]:
        """The heat maps of a line's best translation: the mean, then every model."""
        if not translation.hypotheses or translation.empty:
            return []
        hypothesis, source = translation.hypotheses[0], translation.source
        right_left = self.plan.layout.right_left
        names = model_names([str(loaded.model.path) for loaded in self.models])
        mean = View.of(
            MEAN if self._members else names[0], source, hypothesis,
            right_left=right_left, model_weights=self.plan.weights,
        )  # fmt: skip
        if not self._members:
            return [mean]
        sources = self._sources([translation.factored], [translation.number])
        of_models = self._members(sources, translation.words)
        return [mean] + [
            View.of(
                name, source,
                hypothesis._replace(
                    word_scores=scores.log_probs,
                    alignment=scores.alignment if scores.alignment is None
                    else loaded.in_source_order(scores.alignment, len(source)),
                ),
                right_left=right_left,
            )
            for name, loaded, scores in zip(names, self.models, of_models, strict=True)
        ]  # fmt: skip

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Lines, of so many words each, that are searched together."""
        plan = self.plan
        if plan.search == "nematus-tf":  # whose lists depend on what shares a batch
            return nematus_tf_batches(lengths, plan.mini_batch)
        if plan.sort_lines:
            return batches([length + 1 for length in lengths], plan.mini_batch, self.max_tokens)
        every = list(range(len(lengths)))
        return [every[i : i + plan.mini_batch] for i in range(0, len(every), plan.mini_batch)]

    def begin(self, lines: Sequence[tuple[int, Request]]) -> SearchBatch:
        """Lines, with their numbers, that a search begins with together."""
        from ..search.hypotheses import SearchBatch

        numbers, requests = zip(*lines, strict=True)
        lengths = [len(request.source) + 1 for request in requests]
        constraints = [request.constraints for request in requests]
        prefixes = [request.prefix for request in requests]
        limits = [
            max(self.plan.limit(length), one.required.fewest_words if one else 0) + len(prefix)
            for length, prefix, one in zip(lengths, prefixes, constraints, strict=True)
        ]
        sources = self._sources([request.source for request in requests], numbers)
        wanted = [
            [*prefix, *(one.required.words if one else ())]
            for prefix, one in zip(prefixes, constraints, strict=True)
        ]
        words = self._output_words(sources, wanted)
        lattice = self._ensemble.begin(sources, words)
        return SearchBatch(lattice, lengths, limits, prefixes, constraints)

    def _output_words(
        self,
        sources: Sequence[tuple[np.ndarray, np.ndarray]],
        wanted: Sequence[Sequence[int]],
    ) -> list[np.ndarray]:
        """The words that translations may have, of each sentence or of all; none: every word.

        sources: as of `_sources`; wanted: words that each translation has to have.
        """
        if not self.plan.shortlists:
            return []
        ids = [
            [row[:length, 0] for row, length in zip(ids, mask.sum(axis=1).astype(int), strict=True)]
            for loaded, (ids, mask) in zip(self.models, sources, strict=True)
            if loaded.reads_words
        ]
        if self.plan.shared_shortlist:
            ids = [[np.concatenate(rows)] for rows in ids]
            wanted = [[word for words in wanted for word in words]]
        return [
            np.union1d(union(self.plan.shortlists, of_models), words).astype(np.int32)
            for words, *of_models in zip(wanted, *ids, strict=True)
        ]

    def _sources(
        self, lines: Sequence[Sequence[str]], numbers: Sequence[int]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Words of lines as each model reads them: ids and mask."""
        return [loaded.source_batch(lines, numbers) for loaded in self.models]

    def _search(
        self,
        batches: Iterable[SearchBatch],
        begun: Sequence[tuple[int, Request]],
        settings: SearchSettings,
    ) -> Iterator[tuple[int, list[SearchResult]]]:
        """Places in `begun`, which grows with the batches, and what was reached for them."""
        from ..search.beam import shrinking_beam
        from ..search.nematus_tf_beam import nematus_tf_beam
        from ..search.sampling import sample

        if not self._sampling and self.plan.search != "nematus-tf":
            yield from shrinking_beam(batches, settings, ranking=self._ranking(begun))
            return
        done = 0
        for batch in batches:
            if self._sampling:
                numbers = [number for number, _ in begun[done:]]
                lists = sample(batch, settings, self._sampling, numbers)
            else:
                lists = nematus_tf_beam(batch, settings)
            yield from enumerate(lists, done)
            done += len(lists)

    def _hypothesis(self, result: SearchResult, source: Sequence[str]) -> Hypothesis:
        """source: its words without factors."""
        ids = result.words[:-1] if result.finished else result.words
        words = self.target.decode(int(i) for i in ids)
        alignment = result.alignment
        if alignment is not None:
            alignment = self._first.in_source_order(alignment, len(source))
            if self.plan.unk_replace:
                words = unknown_words.replace_unknown(
                    words, alignment, source, {self.target.unk}, self.plan.lexicon
                )
        return Hypothesis(
            words,
            bool(result.finished),
            result.score,
            result.total,
            result.word_scores,
            result.model_scores.tolist(),
            alignment,
            self._text(words[::-1] if self.plan.layout.right_left else words),
        )

    def _text(self, words: Sequence[str]) -> str:
        """Words in reading order as text."""
        if not self.models[0].writes_text:
            return " ".join(words)
        text = self.target.detokenize(words) if self.plan.decode_pieces else " ".join(words)
        if self.plan.reading.preprocessing:
            return self.plan.reading.preprocessing.undo(text, "target")
        return subwords.join_bpe(text) if self.plan.join_bpe else text
