"""A model or an ensemble, and the name under which it is served."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import LoadedModel, PairScorer, Session, Translator
from ..documents.sentences import Sentences
from ..errors import CgruError, UsageError, one_line
from ..options.serve import ServeOptions
from ..system.terminal import tell
from ..web.page import first_distinct


@dataclass(frozen=True)
class SearchOptions:
    """The search that a request asks for; None: as on the server's command line.

    marks: keep what marks need. more: other options of `cgru translate`, with their names. rows:
    the hypotheses of a line, once `ServedModel.settings` has decided the search.
    """

    beam_size: int | None = None
    n_best: int = 1
    normalize: float | None = None
    alignment: bool = False
    marks: bool = False
    suppress_unk: bool | None = None
    more: tuple[tuple[str, Any], ...] = ()
    rows: int = 1

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The arguments of `Translator.session`."""
        names = ("beam_size", "n_best", "normalize", "alignment", "marks", "suppress_unk")
        return {name: getattr(self, name) for name in names} | dict(self.more)


class ServedModel:
    """A model or an ensemble; translating and scoring share its weights in memory.

    Several threads may use its sessions and its scorer at the same time, each call on one thread.
    """

    def __init__(self, name: str, models: Sequence[str | LoadedModel], options: ServeOptions):
        """models: files, or models read from files.

        Raises CgruError for unreadable files, and for models that cannot form an ensemble.
        """
        self.name = name
        # the engine's threads search side by side instead
        given = options.translating() | {"cpu_threads": 1}
        self.translator = Translator(
            models, options.vocabularies, attention=False, serving=True, **given
        )
        self.defaults, loaded = self.translator.settings, self.translator.models
        self.paths = tuple(str(one.model.path) for one in loaded)
        self.type: str = loaded[0].model.structure.type.value
        self.attends = any(one.model.structure.attends for one in loaded)
        self.reads_source = any(one.reads_source for one in loaded)
        self.right_left = loaded[0].right_left
        self.languages = _languages(loaded)
        self.markup, self.unk_replace = options.markup, options.unk_replace
        self._preparing = threading.Lock()
        self._scorer: PairScorer | None = None

    def session(self, search: SearchOptions) -> Session:
        """A session for requests of this search. Raises CgruError like `settings`."""
        return self.translator.session(**search.keywords)

    @property
    def scorer(self) -> PairScorer:
        """The scorer, prepared by the first thread that needs it; others wait for it."""
        with self._preparing:
            if self._scorer is None:
                self._scorer = PairScorer(self.translator)
            return self._scorer

    def sentences(self, language: str) -> Sentences:
        """The splitter for a language ("": the model's). Raises CgruError without sentencex."""
        source, target = self.languages or ("", "")
        return Sentences(language or source, target)

    def public(self, error: CgruError) -> str:
        """The message of an error with this model's name instead of its files."""
        message, models = str(error), self.translator.models
        vocabularies = [words for one in models for words in (*one.sources, one.target)]
        paths = {str(one.model.path) for one in models} | {one.path for one in vocabularies}
        for path in sorted(map(one_line, paths), key=len, reverse=True):
            message = message.replace(path, self.name)
        return message

    def settings(self, search: SearchOptions) -> SearchOptions:
        """The search of a request, with the defaults that it has: equal searches share steps.

        Raises CgruError if the model does not support it.
        """
        if (search.alignment or search.marks) and not self.attends:
            raise CgruError(f"{self.name}: this model has no attention, so it has no alignments")
        rows, suppressed = self.session(search).beam_size, self.defaults.suppressed is not None
        decided = dataclasses.replace(
            search,
            rows=rows,
            normalize=self.defaults.normalize if search.normalize is None else search.normalize,
            suppress_unk=suppressed if search.suppress_unk is None else search.suppress_unk,
        )
        if search.more:  # such as mbr, which excludes a beam_size
            return decided
        # of n_best, it matters whether one is enough
        return dataclasses.replace(decided, beam_size=rows, n_best=min(search.n_best, 2))

    @property
    def longest(self) -> int:
        """The number of words, including EOS, of the longest possible translation."""
        return self.defaults.limit(self.defaults.longest + 1)


def served_models(options: ServeOptions) -> dict[str, ServedModel]:
    """The models of the command line by name; the first model is the default.

    Raises UsageError for a missing or repeated name, CgruError like `ServedModel`.
    """
    if not options.model:
        raise UsageError("name a model: cgru serve -m MODEL")
    if not any(map(_is_named, options.model)):
        return _without_names(options)
    models: dict[str, ServedModel] = {}
    for word in options.model:
        if not _is_named(word):
            raise UsageError("-m: give each model a name (NAME=FILE), or give none")
        name, _, files = word.partition("=")
        if not name or not name.isprintable() or name in models:
            raise UsageError(f"-m {name}={files}: each model needs its own name")
        models[name] = ServedModel(name, files.split(","), options)
    return models


def _is_named(word: str) -> bool:
    """Whether a word is NAME=FILE rather than a file name."""
    return "=" in word and not os.path.exists(word)


def _without_names(options: ServeOptions) -> dict[str, ServedModel]:
    """The models of files without names: one ensemble, or one for each direction or vocabulary."""
    name = Path(options.model[0]).stem or "model"
    if len(options.model) == 1 or options.weights:  # weights are those of an ensemble
        return {name: ServedModel(name, options.model, options)}
    groups: list[list[LoadedModel]] = []
    for path in options.model:
        (one,) = Translator(
            path, options.vocabularies, serving=True, **options.translating()
        ).models
        group = next((group for group in groups if _fits(one, group)), None)
        if group is None:
            groups.append(group := [])
        group.append(one)
    files = [", ".join(str(one.model.path) for one in group) for group in groups]
    if len(groups) == 1:
        tell(f"{files[0]}: one ensemble; to serve them separately: -m NAME=FILE NAME=FILE")
        return {name: ServedModel(name, groups[0], options)}
    between = ["-".join(_languages(group) or ()) for group in groups]
    stems = [Path(group[0].model.path).stem for group in groups]
    names = first_distinct(between, stems, files)
    listed = "; ".join(f"{name} ({file})" for name, file in zip(names, files, strict=True))
    tell(f"languages or vocabularies differ, so each is a separate model: {listed}")
    return {
        name: ServedModel(name, group, options) for name, group in zip(names, groups, strict=True)
    }


def _languages(models: Sequence[LoadedModel]) -> tuple[str, str] | None:
    """The languages of an ensemble; None if no model states them."""
    return next((one.languages for one in models if one.languages), None)


def _fits(one: LoadedModel, group: Sequence[LoadedModel]) -> bool:
    """Whether a model has the languages and target vocabulary of an ensemble."""
    languages, target = _languages(group), group[0].target
    same = not (one.languages and languages) or one.languages == languages
    return same and one.target.fingerprint == target.fingerprint
