"""Input lines as the models read them, with the constraints on their translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CgruError, warn
from ..formats.loaded_model import LoadedModel
from ..parameters.structure import Type
from ..text.copying import PLACEHOLDERS, Span
from ..text.markup import Markup
from ..text.source_words import prepared
from .phrases import Fields, Phrases, alternatives, consistent, read_phrases, split_line
from .plan import SearchPlan

if TYPE_CHECKING:
    from ..search.constraints import Avoided, Constraints
    from ..search.hypotheses import SearchResult


class Request(NamedTuple):
    """A line of input."""

    source: list[str]  # the words of the line
    prefix: list[int]  # ids of the beginning of the translation
    constraints: Constraints | None = None  # phrases that the translation must or must not contain
    text: str = ""  # the source as text
    empty: bool = False  # whether the line has no words
    copied: Sequence[str] = ()  # the spans of the source that placeholders stand for
    markup: Markup | None = None  # the marks of the source
    words_before: Mapping[int, int] = MappingProxyType({})  # number of words before each mark

    def accepted(self, results: Sequence[SearchResult]) -> Sequence[SearchResult] | None:
        """The results with all required phrases; None if the best one lacks a phrase.

        Most translations have copied spans in the right places by themselves, so phrases are forced
        only in the second search of a line.
        """
        if self.constraints is None or self.constraints.forced:
            return results
        kept = [one for one in results if self.constraints.satisfied_by(one.words.tolist())]
        return kept if kept and kept[0] is results[0] else None

    def forced(self) -> Request:
        """The request for the second search."""
        assert self.constraints  # noqa: S101 - for types: they were not satisfied
        return self._replace(constraints=dataclasses.replace(self.constraints, forced=True))


class RequestReader:
    """Reads lines, and phrases that their translations must or must not contain."""

    def __init__(self, plan: SearchPlan, target: LoadedModel, source: LoadedModel):
        """target: the model that defines the words of translations; source: the model that defines
        the words of lines, the same model if no model reads a source.
        """
        self._plan, self._target, self._source = plan, target, source
        self._generates = not source.reads_source
        # for an empty line, a language model writes a text, and a classifier a label
        classifies = target.model.structure.type is Type.CLASSIFIER
        self._takes_empty = self._generates or classifies
        self._lines = source.source_lines(plan.reading)
        self._phrases = Phrases(target, plan.reading)
        avoid = plan.options.avoid
        phrases = read_phrases(avoid) if avoid else []
        self._avoided = self._phrases.avoided_of_file(phrases, avoid or "")
        copying = plan.copying if plan.placeholders else None
        self._avoided_spans = [one for one in phrases if copying and copying.spans(one)]
        self._avoiding = lru_cache(self._avoiding_also)
        self._placeholders = target.target.encode(PLACEHOLDERS[: plan.placeholders])

    def report(self) -> None:
        """Warn about lines that were cut."""
        self._lines.report()

    def read(self, line: str | Fields, number: int) -> Request:
        """A line (counted from 0) as the models read it; the options say how to split text.

        Raises CgruError if the line cannot be prepared, if it is a source text for a language
        model, and if the model does not know it as a condition.
        """
        fields = self._split(line, number) if isinstance(line, str) else line
        form = self._plan.options.markup
        markup = self.markup(fields.source, form) if form and not fields.plain else None
        if markup:
            fields = fields._replace(source=markup.plain)
        text = fields.source
        fields, copied, others = self._with_placeholders(fields)
        source, prefix = fields.source, fields.beginning
        if self._generates and source:
            raise CgruError(
                f"line {number + 1}: {self._source.model.path} is a language model and does not "
                "translate; --force-decode continues lines, and an empty line generates a text"
            )
        words = self.words(source, number)
        if self._source.reads_source and not self._source.reads_words:
            self._source.ids(words, number)  # to reject an unknown condition before the search
        return Request(
            words,
            self.prefix(prefix, number) if prefix else [],
            self._constraints(fields, number, len(copied), others),
            text,
            not (words or self._takes_empty),
            copied,
            markup,
            self._words_before(markup, number) if markup else {},
        )

    def _words_before(self, markup: Markup, number: int) -> dict[int, int]:
        """The number of source words before each mark of a line (counted from 0)."""
        words, count = {}, 0
        for place in sorted(markup.borders()):
            if count < self._lines.longest:  # the rest of the line is cut
                count = self.count(markup.plain[:place], number)
            words[place] = count
        return words

    def markup(self, source: str, form: str) -> Markup:
        """A source and its marks, parsed from a form of `text.markup`."""
        copying, known = self._plan.copying, self._plan.placeholders
        placeholders = known > 0 and copying is not None and bool(copying.patterns)
        return Markup(source, form, placeholders=placeholders)

    def copied(self, source: str) -> list[str]:
        """The spans of a source that placeholders replace."""
        return self._with_placeholders(Fields(source))[1]

    def count(self, text: str, number: int = 0) -> int:
        """The number of words in `text`, the beginning of a line's plain text."""
        if self._plan.copying:
            text = self._plan.copying.replaced(text, self._plan.placeholders)[0]
        words = self._lines.tokenize(prepared(self._lines.preprocessing, text, "source", number))
        return min(len(words), self._lines.longest)

    def _with_placeholders(self, fields: Fields) -> tuple[Fields, list[str], list[Span]]:
        """Fields with placeholders, the spans that they stand for, and other spans to copy.

        Placeholders also replace these spans in the translation's beginning and phrases.
        """
        copying, known = self._plan.copying, self._plan.placeholders
        if copying is None:
            return fields, [], []
        source, copied, others = copying.replaced(fields.source, known)

        def masked(text: str) -> str:
            return copying.named(text, copied)

        begun = fields.beginning
        return (
            fields._replace(
                source=source,
                beginning=masked(begun) if isinstance(begun, str) else begun,
                required=[[*map(masked, alternatives(one))] for one in fields.required],
                avoided=[*map(masked, (*fields.avoided, *self._avoided_spans))],
            ),
            copied,
            others,
        )

    def words(self, source: str, number: int = 0) -> list[str]:
        """The words of a source line (counted from 0). Raises CgruError like `read`."""
        return self._lines.words(source, number)

    def _split(self, line: str, number: int) -> Fields:
        options = self._plan.options
        count = line.count("\t") + 1
        if options.tsv and options.constraints != "tabs" and count > 1 + options.force_decode:
            raise CgruError(
                f"line {number + 1}: {count} fields separated by tabs; with --tsv the source is "
                "expected or, with --force-decode, the beginning of its translation too"
            )
        fields = Fields(line)
        if options.constraints or options.force_decode:
            after_tab = options.force_decode and not self._generates
            fields = split_line(line, number, options.constraints, after_tab)
        if self._generates and options.force_decode:  # a language model continues the whole line
            return fields._replace(source="", beginning=fields.source)
        return fields

    def _constraints(
        self, fields: Fields, number: int, copied: int, others: Sequence[Span]
    ) -> Constraints | None:
        """The phrases that the translation of a line (counted from 0) must and must not contain.

        copied: the number of placeholders in the source, each of which the translation must contain
        once; others: spans to copy without a placeholder, skipped if the model cannot write them.
        Raises CgruError, naming the line, for phrases that no translation can satisfy.
        """
        from ..search.constraints import Constraints

        if self._plan.settings.sampling:
            return None  # samples are drawn as the model learned to write them
        once, absent = self._placeholders[:copied], self._placeholders[copied:]
        copies: list[list[tuple[int, ...]]] = [[(word,)] for word in once]
        for span in others:
            # within a word, such as in brackets, also with the word's beginning, and the whole word
            begin = fields.source.rfind(" ", 0, span.start) + 1
            rest = fields.source[span.end :].partition(" ")[0]
            begun = fields.source[begin : span.end]
            texts = [(span.text, begin < span.start), (begun, False), (begun + rest, False)]
            ids = [self._phrases.ids(text, number, within=within) for text, within in texts]
            if kept := [one for one in dict.fromkeys(ids) if one]:
                copies.append(kept)
            else:
                warn(f"line {number + 1}: the vocabulary lacks a part of {span.text!r}")
        must_not = [*self._phrases.avoided(fields.avoided, number), *((one,) for one in absent)]
        avoided = self._avoiding(tuple(must_not), tuple(one for some in copies for one in some))
        must = self._phrases.required(fields.required, number)
        must = [*consistent(must, avoided, number), *copies]
        return Constraints.of(must, avoided, once, forced=False)

    def _avoiding_also(
        self, more: tuple[tuple[int, ...], ...], copies: tuple[tuple[int, ...], ...]
    ) -> Avoided:
        """The phrases of the file and more, except those inside copied spans."""
        from ..search.constraints import Avoided, PhraseSet

        avoided = PhraseSet([*self._avoided, *more])
        copied = {part for one in copies for part in avoided.within(one)}
        return Avoided([one for one in avoided if one not in copied])

    def prefix(self, begun: str | Sequence[str], number: int) -> list[int]:
        """The ids of the first words of the translation of a line (counted from 0).

        begun: text, or words of the model. Raises CgruError if text cannot be prepared.
        """
        ids = self._target.target.encode(self.beginning(begun, number))
        if isinstance(begun, str) and self._target.target.unk_id in ids:
            warn(f"line {number + 1}: the vocabulary lacks a part of the beginning {begun!r}")
        return ids

    def beginning(self, begun: str | Sequence[str], number: int) -> Sequence[str]:
        """The same first words as strings."""
        if not isinstance(begun, str):
            return begun
        return self._target.target_words(begun, number, self._plan.reading)
