"""Input lines as the models read them, with the constraints on their translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CgruError, warn
from ..formats.loaded_model import LoadedModel
from ..parameters.structure import Type
from ..text.copying import PLACEHOLDERS, Span
from ..text.markup import Markup
from ..text.source_words import prepared
from .phrases import Fields, Phrases, alternatives, consistent, split_line
from .plan import SearchPlan

if TYPE_CHECKING:
    from ..search.constraints import Constraints


class Request(NamedTuple):
    """A line of input."""

    source: list[str]  # the words of the line
    prefix: list[int]  # ids of the beginning of the translation
    constraints: Constraints | None = None  # phrases that the translation must or must not contain
    text: str = ""  # the source as text
    empty: bool = False  # whether the line has no words
    copied: Sequence[str] = ()  # the spans of the source that placeholders stand for
    markup: Markup | None = None  # the marks of the source
    words_before: Mapping[int, int] = MappingProxyType({})  # source words before each mark


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
        self._avoided = self._phrases.read_avoided(avoid) if avoid else []
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
                f"line {number + 1}: {self._source.model.path} is a language model and translates "
                "nothing; with --force-decode it continues lines, and empty lines give texts of "
                "its own"
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
            {p: self.count(text[:p], number) for p in (markup.borders() if markup else ())},
        )

    def markup(self, source: str, form: str) -> Markup:
        """A source and its marks, parsed from a form of `text.markup`."""
        copying = self._plan.copying
        return Markup(source, form, copies_code=copying is not None and "code" in copying.patterns)

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

        Placeholders also replace spans in the translation's beginning and phrases.
        """
        copying, known = self._plan.copying, self._plan.placeholders
        if copying is None:
            return fields, [], []
        source, copied, others = copying.replaced(fields.source, known)

        def masked(text: str) -> str:
            for span, name in zip(copied, PLACEHOLDERS, strict=False):
                text = text.replace(span, name, 1)
            return text

        begun = fields.beginning
        return (
            fields._replace(
                source=source,
                beginning=masked(begun) if isinstance(begun, str) else begun,
                required=[[*map(masked, alternatives(one))] for one in fields.required],
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

        once, absent = self._placeholders[:copied], self._placeholders[copied:]
        must = self._phrases.required(fields.required, number)
        must += [[(word,)] for word in once]
        for span in others:
            within = span.start > 0 and fields.source[span.start - 1] != " "
            if ids := self._phrases.ids(span.text, number, within=within):
                must.append([ids])
            else:
                warn(f"line {number + 1}: the vocabulary lacks a part of {span.text!r}")
        must_not = [*self._avoided, *self._phrases.avoided(fields.avoided, number)]
        must_not += [(word,) for word in absent]
        return Constraints.of(consistent(must, must_not, number), must_not, once)

    def prefix(self, begun: str | Sequence[str], number: int) -> list[int]:
        """The ids of the first words of the translation of a line (counted from 0).

        begun: text, or words of the model. Raises CgruError if text cannot be prepared.
        """
        return self._target.target.encode(self.beginning(begun, number))

    def beginning(self, begun: str | Sequence[str], number: int) -> Sequence[str]:
        """The same first words as strings."""
        if not isinstance(begun, str):
            return begun
        return self._target.target_words(begun, number, self._plan.reading)
