"""A model or an ensemble, and the name under which it is served."""

from __future__ import annotations

import dataclasses
import functools
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents.sentences import Sentences
from ..errors import CgruError, UsageError, one_line
from ..formats.loaded_model import load_model
from ..options.keywords import in_python
from ..options.serve import ServeOptions
from ..score.pairs.ensemble_scorer import EnsembleScorer
from ..score.pairs.model_scorer import ModelScorer
from ..translate.filters import Filter, Marks, Split
from ..translate.line_search import LineSearch
from ..translate.plan import SearchPlan

if TYPE_CHECKING:
    from ..search.settings import SearchSettings


@dataclass(frozen=True)
class SearchOptions:
    """The search that a request asks for; None: as on the server's command line.

    more: other options of `cgru translate`, by their names.
    """

    beam_size: int | None = None
    n_best: int = 1
    normalize: float | None = None
    alignment: bool = False
    suppress_unk: bool | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class ServedModel:
    """A model or an ensemble; translating and scoring share its weights in memory.

    Several threads may use its search and its scorer at the same time, each call on one thread.
    """

    def __init__(self, name: str, paths: Sequence[str], options: ServeOptions):
        """Read the model's files.

        Raises CgruError for unreadable files, and for models that cannot form an ensemble.
        """
        self.name, self.paths = name, tuple(paths)
        self._models = [load_model(path, options.vocabularies) for path in paths]
        # the engine's threads search side by side instead
        translating = dataclasses.replace(options.translating(self.paths), cpu_threads=1)
        self.plan = SearchPlan(translating, self._models)
        self.type: str = self._models[0].model.structure.type.value
        self.attends = any(one.model.structure.attends for one in self._models)
        self.reads_source = any(one.reads_source for one in self._models)
        self.right_left = self._models[0].right_left
        self.languages = next((one.languages for one in self._models if one.languages), None)
        # output words must not depend on the other lines of a mini-batch
        self.plan.shared_shortlist = False
        self.plan.offsets = True  # for documents with marks, which need no --markup
        self._preparing = threading.RLock()
        self._search: LineSearch | None = None
        self._scorer: EnsembleScorer | None = None

    @functools.cached_property
    def search(self) -> LineSearch:
        """The search, prepared by the first thread that needs it; others wait for it."""
        with self._preparing:
            if self._search is None:
                self._search = LineSearch(self.plan, self._models, scores=True)
            return self._search

    @functools.cached_property
    def scorer(self) -> EnsembleScorer:
        """The scorer, which uses the same networks, likewise."""
        with self._preparing:
            if self._scorer is None:
                self._scorer = self._new_scorer()
            return self._scorer

    def _new_scorer(self) -> EnsembleScorer:
        search, plan = self.search, self.plan
        workspace, attends = plan.options.workspace, self.attends
        scorers = [
            ModelScorer(one, plan.reading, prepared, workspace, with_alignment=attends)
            for one, prepared in zip(self._models, search.prepared, strict=True)
        ]
        weights = plan.weights if len(scorers) > 1 else ()
        alpha = plan.settings.normalize
        return EnsembleScorer(scorers, weights, alpha, with_alignment=self.attends)

    def filters(self, form: str | None, sentences: Sentences | None = None) -> list[Filter]:
        """The filters around a line: for its marks, html or markdown, and for its sentences."""
        filters: list[Filter] = [Marks(form, self.plan)] if form else []
        if sentences:
            filters.append(Split(sentences.split, sentences.join, self.plan))
        return filters

    def sentences(self, language: str) -> Sentences:
        """The splitter for a language ("": the model's). Raises CgruError without sentencex."""
        source, target = self._models[0].languages or ("", "")
        return Sentences(language or source, target)

    def public(self, error: CgruError) -> str:
        """The message of an error with this model's name instead of its files."""
        message = str(error)
        vocabularies = [words for one in self._models for words in (*one.sources, one.target)]
        paths = {str(one.model.path) for one in self._models} | {one.path for one in vocabularies}
        for path in sorted(map(one_line, paths), key=len, reverse=True):
            message = message.replace(path, self.name)
        return message

    def settings(self, search: SearchOptions) -> SearchSettings:
        """The settings of a request's search. Raises CgruError if the model does not support it."""
        if search.alignment and not self.attends:
            raise CgruError(f"{self.name}: this model has no attention, so it gives no alignments")
        given = self.plan.settings
        if search.more:
            with in_python():
                asked = dict(search.more) | {"beam_size": search.beam_size}
                options = dataclasses.replace(self.plan.options, **asked)
                given = SearchPlan(options, self._models, self.plan).settings
        least = given.beam_size if given.utility else max(given.beam_size, search.n_best)
        beam_size = search.beam_size or least
        if search.n_best > beam_size:
            raise CgruError(f"n_best {search.n_best}: more than the beam_size, {beam_size}")
        unk = given.unk
        if search.suppress_unk is not None:
            unk = self._models[0].target.unk_id if search.suppress_unk else None
        settings = dataclasses.replace(
            given,
            unk=unk,
            beam_size=beam_size,
            normalize=given.normalize if search.normalize is None else search.normalize,
            with_alignment=given.with_alignment or search.alignment,
        )
        return settings if search.n_best > 1 else self.plan.ending_early(settings)

    @property
    def longest(self) -> int:
        """The number of words, including EOS, of the longest possible translation."""
        return self.plan.limit(self.plan.reading.longest + 1)

    def max_tokens(self, beam_size: int) -> int:
        """The number of padded source words that fit into the workspace with this beam size."""
        from ..search.beam import max_tokens_of

        structures = [one.model.structure for one in self._models]
        return max_tokens_of(self.plan.options.workspace, beam_size, structures)


def served_models(options: ServeOptions) -> dict[str, ServedModel]:
    """The models of the command line by name; the first model is the default.

    Raises UsageError for a missing or repeated name, CgruError like `ServedModel`.
    """
    if not options.model:
        raise UsageError("name a model: cgru serve -m MODEL")
    if not any(map(_is_named, options.model)):
        name = Path(options.model[0]).stem or "model"
        return {name: ServedModel(name, options.model, options)}
    models: dict[str, ServedModel] = {}
    for word in options.model:
        if not _is_named(word):
            raise UsageError("-m: give each model a name (NAME=FILE), or give none")
        name, _, files = word.partition("=")
        if not name or not name.isprintable() or name in models:
            raise UsageError(f"-m {name}={files}: each model needs a name of its own")
        models[name] = ServedModel(name, files.split(","), options)
    return models


def _is_named(word: str) -> bool:
    """Whether a word is NAME=FILE rather than a file name."""
    return "=" in word and not os.path.exists(word)
