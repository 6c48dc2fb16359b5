"""`Translator`: lines of text in, their translations out."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Unpack, overload

from ..errors import CgruError, UsageError
from ..formats.loaded_model import LoadedModel, ModelSource, loaded_models
from ..options.flags import applying
from ..options.keyword_types import TranslatorKeywords
from ..options.keywords import (
    Arguments,
    OfLine,
    OfLines,
    checked,
    in_python,
    iterated,
    lists,
    one_line,
    one_text,
)
from ..options.scope import Scope
from ..options.translate import TranslateOptions
from ..output.hypothesis import Hypothesis
from ..system.terminal import Progress, counting
from ..system.windows import in_order, in_windows, sizes
from .filters import Filter, Marks, Split, Undo, filtered
from .line_search import LineSearch
from .phrases import Fields, Requirement
from .plan import SearchPlan
from .results import Translation, rendered
from .session import Session

_KNOWN = applying(TranslateOptions, Scope.TRANSLATOR | Scope.CALL)
_PRINTED = ("n_best", "n_best_size", "word_scores", "alignment")  # options for `printed`
_NOTHING = Hypothesis((), False, -math.inf, -math.inf)


class Splitter(Protocol):
    """Splits a line, and joins the translations of its parts."""

    def split(self, line: str, /) -> list[str]: ...

    def join(self, texts: list[str], /) -> str: ...


class TranslatorSettings(NamedTuple):
    """How a translator reads and searches, unless a call asks for something else.

    raw_text: whether it prepares text itself; longest: the number of words of a line that it reads;
    limit: the maximum length of a translation, of a source of this length, both with EOS;
    suppressed: the id of the unknown word if translations never have it; weights: of the models;
    on_gpu: whether it computes on a GPU.
    """

    raw_text: bool
    longest: int
    limit: Callable[[int], int]
    beam_size: int
    normalize: float
    word_penalty: float
    suppressed: int | None
    weights: tuple[float, ...]
    mini_batch: int
    on_gpu: bool


class Translator:
    """Translates lines of text with one model or an ensemble.

    Threads may share a translator. Pickling stores the paths of the models.
    """

    @lists(TranslateOptions, _KNOWN)
    def __init__(
        self,
        models: ModelSource | Sequence[ModelSource] | LineSearch,
        vocabularies: Sequence[str] = (),
        *,
        attention: bool = True,
        serving: bool = False,
        **options: Unpack[TranslatorKeywords],
    ):
        """models: files of any program, or models from `load_model`, which remain unchanged; or the
        search of a command line, which has all options, and whose messages name flags.

        vocabularies: files, source (one per factor) then target, if models name none. attention:
        whether hypotheses have attention, if the models do. serving: for a command that is a
        server: prepare the models on first use, for a `PairScorer` too, and let messages name
        flags. options: those of `cgru translate`, with "_" for "-" in their names; the defaults are
        those of the model's program.

        Raises CgruError for models that cannot be read or form an ensemble; UsageError for invalid
        arguments.
        """
        self._arguments = Arguments.of(models, vocabularies, {"attention": attention, **options})
        self._wording: Callable[[], contextlib.AbstractContextManager] = in_python
        if serving or isinstance(models, LineSearch):
            self._wording = contextlib.nullcontext
        if isinstance(models, LineSearch):
            self._attends, self._search = False, models
            return
        with self._wording():
            known = [*_KNOWN, *(_PRINTED if serving else ())]
            values = checked(TranslateOptions, options, known)
            loaded = loaded_models(models, vocabularies)
            names = tuple(str(one.model.path) for one in loaded)
            values |= {"model": names, "vocabularies": tuple(vocabularies)}
            self._attends = attention and any(one.model.structure.attends for one in loaded)
            plan = self._planned(SearchPlan(TranslateOptions.of(values), loaded))
            self._search = LineSearch(plan, loaded, serving=serving)

    @property
    def models(self) -> list[LoadedModel]:
        """The models; their arrays may have moved into networks."""
        return [*self._search.direct]

    @property
    def settings(self) -> TranslatorSettings:
        """The defaults of the models' program, with the options of this translator."""
        from ..search.runtime import uses_gpu

        plan = self._search.plan
        return TranslatorSettings(
            plan.reading.preprocessing is not None,
            plan.reading.longest,
            plan.limit,
            plan.settings.beam_size,
            plan.settings.normalize,
            plan.settings.word_penalty,
            plan.settings.unk,
            plan.weights,
            plan.mini_batch,
            uses_gpu(plan.options.device),
        )

    @property
    def languages(self) -> tuple[str, str] | None:
        """The codes of source and target language; None if the model does not state them."""
        return self._search.models[0].languages

    @overload
    def translate(
        self, lines: str, *, n_best: None = None, **options: Unpack[OfLine]
    ) -> Hypothesis: ...

    @overload
    def translate(
        self, lines: str, *, n_best: int, **options: Unpack[OfLine]
    ) -> list[Hypothesis]: ...

    @overload
    def translate(
        self, lines: list[str] | tuple[str, ...], *, n_best: None = None, **options: Unpack[OfLines]
    ) -> list[Hypothesis]: ...

    @overload
    def translate(
        self, lines: list[str] | tuple[str, ...], *, n_best: int, **options: Unpack[OfLines]
    ) -> list[list[Hypothesis]]: ...

    @overload
    def translate(
        self, lines: Iterator[str], *, n_best: None = None, **options: Unpack[OfLines]
    ) -> Iterator[Hypothesis]: ...

    @overload
    def translate(
        self, lines: Iterator[str], *, n_best: int, **options: Unpack[OfLines]
    ) -> Iterator[list[Hypothesis]]: ...

    def translate(
        self,
        lines: Any,
        *,
        n_best: int | None = None,
        prefixes: Any = None,
        constraints: Any = None,
        avoid: Sequence[str] = (),
        progress: Progress = False,
        **options: Any,
    ) -> Any:
        """The best translation of each line; words, scores and attention are in reading order.

        One line (str) gives one result, a list gives a list, and an iterator an iterator that
        yields results in order as they become ready. n_best: return a list of up to this many
        translations of each line, best first. prefixes: the beginning of each translation, as text
        or words. constraints: for each line, the phrases that its translation must contain; a list
        of phrases stands for any of them. avoid: phrases that no translation may contain. progress:
        True to count lines on standard error, or a function of the number of lines done. options:
        for this call only.

        A line has no line breaks, except one at its end, which is ignored; with split_sentences,
        the translation of a text has those of the text. An empty line gives an empty translation.
        If no hypothesis is finished, the translation is empty and its score is -inf. Raises
        UsageError for invalid arguments; CgruError, naming the line, for an unreadable line, and in
        a fork of the process that loaded the models unless cpu_threads is 1.
        """
        single = isinstance(lines, str)
        if single:
            lines = [lines]
            prefixes, constraints = (x if x is None else [x] for x in (prefixes, constraints))
        with self._wording():
            form: dict[str, Any] = {"force_decode": prefixes is not None}
            if constraints is not None or avoid:
                form["constraints"] = "tabs"
            search = self._for_call(options, form, n_best)
            avoid = [one_text("avoid", phrase) for phrase in iterated("avoid", avoid)]
            several = search.plan.sentences is not None
            texts = _fields(iterated("lines", lines), several, prefixes, constraints, avoid)
        lazy = isinstance(lines, Iterator)
        results = self._translations(search, texts, progress, n_best, lazy)
        if lazy:
            return results
        listed = list(results)
        return listed[0] if single else listed

    __call__ = translate

    def filtered(
        self,
        text: str,
        *,
        lines: str | None = None,
        markup: str | None = None,
        sentences: Splitter | None = None,
    ) -> tuple[list[str], Undo]:
        """The lines to translate of a text, and the function from their translations to its own.

        lines: the line break at which to split the text; markup: html or markdown, the form of the
        marks in each line to place in its translation; sentences: splits each line into sentences,
        and joins their translations.
        For translations of a `session`; `translate` does this by its options.
        """
        plan = self._stepwise.plan
        filters: list[Filter] = []
        if lines:
            filters.append(Split(lambda text: text.split(lines), lines.join, plan))
        if markup:
            filters.append(Marks(markup, plan))
        if sentences:
            filters.append(Split(sentences.split, sentences.join, plan))
        return filtered(text, filters)

    def session(
        self,
        *,
        n_best: int = 1,
        alignment: bool = False,
        marks: bool = False,
        beam_size: int | None = None,
        normalize: float | None = None,
        suppress_unk: bool | None = None,
        **options: Any,
    ) -> Session:
        """A search that lines may join and leave while it runs.

        n_best: the number of translations of a line to find; alignment: keep the attention; marks:
        keep all that `filtered` needs to place marks. None: as for this translator. options: other
        search options of `cgru translate`. Raises CgruError for options that the models do not
        support.
        """
        plan = self._search.plan
        settings = plan.settings
        if options:
            with in_python():
                changed = dataclasses.replace(plan.options, beam_size=beam_size, **options)
                settings = SearchPlan(changed, self._search.direct, plan).settings
        least = settings.beam_size if settings.utility else max(settings.beam_size, n_best)
        if n_best > (beam_size := beam_size or least):
            raise CgruError(f"n_best {n_best}: more than the beam_size, {beam_size}")
        unk = settings.unk
        if suppress_unk is not None:
            unk = self.models[0].target.unk_id if suppress_unk else None
        settings = dataclasses.replace(
            settings,
            unk=unk,
            beam_size=beam_size,
            normalize=settings.normalize if normalize is None else normalize,
            with_alignment=settings.with_alignment or alignment or marks,
        )
        settings = settings if n_best > 1 else plan.ending_early(settings)
        return Session(self._marking if marks else self._stepwise, settings)

    @functools.cached_property
    def _stepwise(self) -> LineSearch:
        """The search for sessions, in which lines do not affect each other."""
        plan = copy.copy(self._search.plan)
        plan.shared_shortlist = False
        return self._search.following(plan)

    @functools.cached_property
    def _marking(self) -> LineSearch:
        """The search for sessions whose translations get marks."""
        plan = copy.copy(self._stepwise.plan)
        plan.offsets = True
        return self._search.following(plan)

    def printed(self, translation: Translation) -> str:
        """The text that `cgru translate` prints for a translation of a `session`.

        With `serving`, the constructor also takes the options of this output.
        """
        return rendered(self._search.plan.layout, translation, False)[0]

    def tokenize(self, line: str) -> list[str]:
        """The words or sub-words of a source line, as the first model reads it."""
        with in_python():
            return self._search.preparer.words(one_text("line", line))

    def detokenize(self, words: Sequence[str]) -> str:
        """The text of words or sub-words of the target, as in `Hypothesis.tokens`."""
        with in_python():
            texts = [one_text("words", word) for word in iterated("words", words)]
            return self._search.results.text(texts)

    def _planned(self, plan: SearchPlan) -> SearchPlan:
        attends = plan.options.unk_replace or bool(plan.options.markup) or self._attends
        attends = attends or plan.layout.alignment is not None
        plan.settings = dataclasses.replace(plan.settings, with_alignment=attends)
        return plan

    def _for_call(self, options: dict, form: dict[str, Any], n_best: int | None) -> LineSearch:
        """The search with the options of a call; form: options of the lines' fields."""
        whole = hasattr(n_best, "__index__") and not isinstance(n_best, bool)
        if n_best is not None and not (whole and 0 < n_best <= 1000):
            raise UsageError(f"n_best: a whole number from 1 to 1000 is expected, not {n_best!r}")
        values = checked(TranslateOptions, options, [*applying(TranslateOptions, Scope.CALL)])
        search = self._search
        values |= {"n_best": n_best is not None, **form}
        if values.get("mbr"):
            values.setdefault("beam_size", None)
        plan = SearchPlan(search.plan.options.replaced(**values), search.direct, search.plan)
        plan = self._planned(plan)
        if n_best is not None and n_best > plan.settings.beam_size and not plan.options.mbr:
            if values.get("beam_size"):
                raise UsageError(f"n_best {n_best}: more than beam_size, {values['beam_size']}")
            plan.settings = dataclasses.replace(plan.settings, beam_size=n_best)
        return search.following(plan)

    def _translations(
        self,
        search: LineSearch,
        lines: Iterator[Fields],
        progress: Progress,
        n_best: int | None,
        lazy: bool,
    ) -> Iterator[Any]:
        """The results of lines, in their order; lazy: the first windows are small."""
        plan = search.plan

        def results(window: list[Fields], first: int) -> Iterator[tuple[int, Any]]:
            for line in search.translations(window, first, n_best=n_best is not None):
                listed = [h.reversed() if plan.layout.right_left else h for h in line.hypotheses]
                yield line.number, (listed or [_NOTHING])[0] if n_best is None else listed[:n_best]

        growing = lazy and not plan.batches_decide
        windows = in_windows(lines, sizes(plan.mini_batch * plan.maxi_batch, growing=growing))
        with self._wording(), counting("lines", progress) as counted:
            yield from counted(in_order(windows, results))
            search.preparer.report()

    def __reduce__(self) -> tuple:
        return self._arguments.reduced(Translator)

    def __repr__(self) -> str:
        plan = self._search.plan
        shown = ", ".join(one.described for one in self._search.direct)
        beam_size, precision = plan.settings.beam_size, plan.options.precision
        return f"Translator({shown}; {precision}, beam_size={beam_size})"


def _fields(
    lines: Iterator[Any],
    several: bool,
    prefixes: Any,
    constraints: Any,
    avoid: Sequence[str],
) -> Iterator[Fields]:
    """Each line with the beginning of its translation and its phrases, checking their types.

    several: whether a line may have line breaks.
    """
    sides = {"prefixes": prefixes, "constraints": constraints}
    columns = {name: iterated(name, x) for name, x in sides.items() if x is not None}
    for number, line in enumerate(lines, 1):
        fields = Fields(one_line(f"line {number}", line, several), avoided=avoid)
        for name, column in columns.items():
            try:
                value = next(column)
            except StopIteration:
                raise UsageError(f"{name}: there are more lines than {name}") from None
            if name == "prefixes" and isinstance(value, str):
                fields = fields._replace(beginning=one_text(f"line {number}: prefixes", value))
                continue
            if not isinstance(value, list | tuple):
                kind = type(value).__name__
                raise UsageError(f"line {number}: {name}: a list is expected, not {kind}")
            what = f"line {number}: {name}"
            texts: list[Requirement] = [
                [one_text(what, phrase) for phrase in text]
                if name == "constraints" and isinstance(text, list | tuple)
                else one_text(what, text)
                for text in value
            ]
            place = {"prefixes": "beginning", "constraints": "required"}[name]
            fields = fields._replace(**{place: texts})  # type: ignore[arg-type]
        yield fields
    for name, column in columns.items():
        if next(column, None) is not None:
            raise UsageError(f"{name}: there are fewer lines than {name}")


def networks_of(translator: Translator) -> LineSearch:
    """The search of a translator, to share its networks."""
    return translator._search
