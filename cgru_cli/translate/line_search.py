"""Search for the translations of lines by a plan, for `Translator` and the commands."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..corpus.numpy_order import argsort
from ..errors import CgruError
from ..formats.declared import check_declared
from ..formats.loaded_model import LoadedModel, load_model
from ..formats.shortlist import union
from ..options.translate import TranslateOptions
from ..system.side_by_side import side_by_side, together_in
from ..system.windows import batches
from .filters import Undo, filtered, filters_of
from .phrases import Fields, PreparedLine
from .plan import SearchPlan
from .preparation import LinePreparer
from .results import Results, Translation

if TYPE_CHECKING:
    from ..search.ensemble import Ensemble
    from ..search.hypotheses import SearchBatch, SearchResult
    from ..search.runtime import PreparedModel
    from ..search.settings import SearchSettings


class Networks:
    """The networks of a search, prepared by the first thread that needs them; others wait."""

    def __init__(
        self,
        prepare: Callable[[LoadedModel], PreparedModel],
        models: Sequence[LoadedModel],
        weights: Sequence[float],
    ):
        self._prepare, self._models, self._weights = prepare, models, weights
        self._preparing = threading.RLock()
        self._ensemble: Ensemble | None = None
        self._prepared: list[PreparedModel] = []

    @property
    def ensemble(self) -> Ensemble:
        """The networks for a search."""
        from ..search.ensemble import Ensemble

        with self._preparing:
            if self._ensemble is None:
                self._prepared = [self._prepare(loaded) for loaded in self._models]
                self._ensemble = Ensemble(self._prepared, self._weights)
            return self._ensemble

    @property
    def prepared(self) -> list[PreparedModel]:
        """The network of each model, for scores."""
        assert self.ensemble  # noqa: S101 - prepares them
        return self._prepared


class LineSearch:
    """Searches for translations of lines, with one model or an ensemble."""

    def __init__(self, plan: SearchPlan, models: Sequence[LoadedModel], *, serving: bool = False):
        """models: the plan's models, whose arrays move into the networks. serving: prepare the
        networks on first use, for scoring too.
        """
        from ..search.runtime import Settings, prepared
        from ..search.scoring import Members

        stepped = plan.channel.stepped if plan.channel else []
        self.direct = models
        models, weights = [*models, *stepped], (*plan.weights, *(0.0 for _ in stepped))
        self.models = models
        options = plan.options
        settings = Settings(options.device, options.cpu_threads)
        self.threads = settings.threads
        shows_each = bool(options.heatmap) and len(plan.weights) > 1
        once = not (serving or shows_each)

        def prepare(loaded: LoadedModel) -> PreparedModel:
            return prepared(loaded.model, options.precision, settings, once=once)

        self.networks = Networks(prepare, models, weights)
        if not serving:
            self.networks.ensemble  # noqa: B018 - prepares them
        self._members = Members(self.networks.prepared) if shows_each else None
        self._follow(plan, None)

    def following(self, plan: SearchPlan) -> LineSearch:
        """A search with the same networks and another plan, for the same models and weights."""
        other = copy.copy(self)
        other._follow(plan, self.preparer)
        return other

    def _follow(self, plan: SearchPlan, base: LinePreparer | None) -> None:
        from ..search.beam import max_tokens_of, mebibytes_of_word

        self.plan = plan
        source = next((loaded for loaded in self.models if loaded.reads_source), self.models[0])
        self._filters = filters_of(plan)
        self.preparer = LinePreparer(plan, self.models[0], source, base)
        self.results = Results(plan, self.models, source, self._members)
        beam_size, workspace = plan.settings.beam_size, plan.options.workspace
        structures = [loaded.model.structure for loaded in self.models]
        needed = mebibytes_of_word(beam_size, structures)
        if needed > workspace:
            raise CgruError(
                f"--beam-size {beam_size}: a word takes {math.ceil(needed)} MiB in this "
                f"search, --workspace is {workspace}; increase it, or reduce the beam"
            )
        self.max_tokens = max_tokens_of(workspace, beam_size, structures)

    def translations(
        self, lines: Sequence[str | Fields], first: int = 0, *, n_best: bool = True
    ) -> Iterator[Translation]:
        """The translations of lines, as they become ready.

        lines: text in the form that the options say, or fields. first: the number of the first
        line; line numbers seed samples together with the seed. n_best: whether to find all
        hypotheses; otherwise the search may end once the best hypothesis is certain.
        """
        prepared: list[PreparedLine] = []
        undos: dict[int, Undo] = {}
        waiting: dict[int, list[Translation | None]] = {}
        for number, line in enumerate(lines, first):
            fields = self.preparer.split(line, number) if isinstance(line, str) else line
            texts, undos[number] = filtered(fields.source, self._filters)
            waiting[number] = [None] * len(texts)
            for part, text in enumerate(texts):
                prepared.append(self.preparer.read(fields._replace(source=text), number, part))
        for one in self._translated(prepared, n_best=n_best):
            waiting[one.number][one.part] = one
            parts = [part for part in waiting[one.number] if part is not None]
            if len(parts) == len(waiting[one.number]):
                whole = undos.pop(one.number)(parts)
                yield whole if len(parts) == 1 else whole.without_attention()

    def _translated(self, lines: Sequence[PreparedLine], *, n_best: bool) -> Iterator[Translation]:
        """The translations of prepared lines, as they become ready."""
        searched = []
        for line in lines:
            # Nematus-TF searches empty lines too, which changes the n-best lists of their batch
            if line.empty and self.plan.search != "nematus-tf":
                yield self.results.empty(line)
            else:
                searched.append(line)
        settings = self.plan.settings
        if not n_best and self.plan.channel is None:
            settings = self.plan.ending_early(settings)
        while searched:
            again: list[PreparedLine] = []
            yield from self.results.translations(self._accepted(searched, settings, again))
            searched = again  # with their phrases forced, so at most once

    def _accepted(
        self, searched: Sequence[PreparedLine], settings: SearchSettings, again: list[PreparedLine]
    ) -> Iterator[tuple[PreparedLine, Sequence[SearchResult]]]:
        """The results of lines that satisfy their constraints; `again` receives the other lines."""
        lengths = [len(line.source) for line in searched]
        batches = self._batches(lengths)
        sizes = [length + 1 for length in lengths]
        threads = together_in(self.max_tokens, sizes, batches, self.threads)
        if threads > 1:
            self.networks.ensemble.share_processors()
            if self.plan.channel:
                self.plan.channel.share_processors()
        # the longest first, so that all threads end at about the same time
        searches = (self._searched([searched[i] for i in b], settings) for b in batches[::-1])
        for line, found in side_by_side(searches, threads):
            results = line.accepted(found)
            if results is None:
                again.append(line.forced())
            else:  # making a hypothesis's text takes time too
                yield line, results[:1] if settings.best_only else results
        # so that their batches do not depend on threads
        again.sort(key=lambda line: (line.number, line.part))

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Choose the lines to search together; lengths: words of each line."""
        plan = self.plan
        if plan.search == "nematus-tf":  # its n-best lists depend on the lines of a batch
            return nematus_tf_batches(lengths, plan.mini_batch)
        if plan.options.maxi_batch_sort != "none":
            return batches([length + 1 for length in lengths], plan.mini_batch, self.max_tokens)
        every = list(range(len(lengths)))
        return [every[i : i + plan.mini_batch] for i in range(0, len(every), plan.mini_batch)]

    def begin(self, lines: Sequence[PreparedLine]) -> SearchBatch:
        """The batch of some lines, for a search."""
        from ..search.hypotheses import SearchBatch

        numbers = [line.number for line in lines]
        lengths = [len(line.source) + 1 for line in lines]
        constraints = [line.constraints for line in lines]
        prefixes = [line.prefix for line in lines]
        limits = [
            max(self.plan.limit(length), one.needed) + len(one.prefix)
            if one.more is None
            else len(one.prefix) + one.more
            for length, one in zip(lengths, lines, strict=True)
        ]
        texts = [line.source for line in lines]
        sources = [loaded.source_batch(texts, numbers) for loaded in self.models]
        required = [
            [*prefix, *(one.required.words if one else ())]
            for prefix, one in zip(prefixes, constraints, strict=True)
        ]
        states = self.networks.ensemble.begin(sources, self._output_words(sources, required))
        return SearchBatch(states, lengths, limits, prefixes, constraints, numbers)

    def _output_words(
        self,
        sources: Sequence[tuple[np.ndarray, np.ndarray]],
        required: Sequence[Sequence[int]],
    ) -> list[np.ndarray]:
        """The words allowed in each translation, or in all translations; () allows all words.

        sources: ids and mask of the lines for each model; required: words that each translation
        must contain.
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
            required = [[word for words in required for word in words]]
        return [
            np.union1d(union(self.plan.shortlists, of_models), words).astype(np.int32)
            for words, *of_models in zip(required, *ids, strict=True)
        ]

    def _searched(
        self, lines: Sequence[PreparedLine], settings: SearchSettings
    ) -> Iterator[tuple[PreparedLine, list[SearchResult]]]:
        """The results of a batch of lines."""
        from ..search.beam import shrinking_beam
        from ..search.nematus_tf_beam import nematus_tf_beam

        batch, channel = self.begin(lines), self.plan.channel
        found: Iterable[tuple[int, list[SearchResult]]]
        if settings.sampling or self.plan.search != "nematus-tf":
            ranking = channel.ranking(lines) if channel and channel.within_beam else None
            found = shrinking_beam([batch], settings, ranking=ranking)
        else:
            found = enumerate(nematus_tf_beam(batch, settings))
        for place, results in found:
            yield lines[place], results


def search_of(options: TranslateOptions) -> LineSearch:
    """The search for a command line. Raises CgruError for bad models and vocabularies."""
    models = [load_model(path, options.vocabularies) for path in options.model]
    check_declared([loaded.model for loaded in models], options.model_is)
    plan = SearchPlan(options, models)
    return LineSearch(plan, models)


def nematus_tf_batches(lengths: Sequence[int], mini_batch: int) -> list[list[int]]:
    """The mini-batches into which Nematus-TF splits a maxi-batch, in its `read_all_lines`.

    lengths: words of every line between white space, 0 for an empty line. The tail of n-best lists
    depends on the batches (see `search.nematus_tf_beam`).
    """
    order = argsort(lengths)
    return [order[i : i + mini_batch] for i in range(0, len(order), mini_batch)]
