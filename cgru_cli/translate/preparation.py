"""Input lines as the models read them, with the constraints on their translations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ..errors import CgruError, warn
from ..formats.loaded_model import LoadedModel
from ..parameters.structure import Type
from ..text.copying import PLACEHOLDERS, Masked
from .phrases import (
    Fields,
    Phrases,
    PreparedLine,
    alternatives,
    consistent,
    read_phrases,
    split_line,
)
from .plan import SearchPlan

if TYPE_CHECKING:
    from ..search.constraints import Avoided, Constraints


class LinePreparer:
    """Reads lines, and phrases that their translations must or must not contain."""

    def __init__(
        self,
        plan: SearchPlan,
        target: LoadedModel,
        source: LoadedModel,
        base: LinePreparer | None = None,
    ):
        """target: the model that defines the words of translations; source: the model that defines
        the words of lines, the same model if no model reads a source; base: a reader for these
        models, to reuse the file of --avoid.
        """
        self._plan, self._target, self._source = plan, target, source
        self._generates = not source.reads_source
        # for an empty line, a language model writes a text, and a classifier a label
        classifies = target.model.structure.type is Type.CLASSIFIER
        self._takes_empty = self._generates or classifies
        self._lines = source.source_lines(plan.reading)
        self._phrases = Phrases(target, plan.reading)
        self._of_file: list[str] = []
        self._avoided: list[tuple[int, ...]] = []
        if base:
            self._of_file, self._avoided = base._of_file, base._avoided
        elif avoid := plan.options.avoid:
            self._of_file = read_phrases(avoid)
            self._avoided = self._phrases.avoided_of_file(self._of_file, avoid)
        copying = plan.copying if plan.placeholders else None
        self._avoided_spans = [one for one in self._of_file if copying and copying.spans(one)]
        self._avoiding = lru_cache(self._avoiding_also)
        self._placeholders = target.target.encode(PLACEHOLDERS[: plan.placeholders])

    def report(self) -> None:
        """Warn about lines that were cut."""
        self._lines.report()

    def read(self, fields: Fields, number: int, part: int = 0) -> PreparedLine:
        """A line (counted from 0), or a part of one, as the models read it.

        Raises CgruError if the line cannot be prepared, if it is a source text for a language
        model, and if the model does not know it as a condition.
        """
        if self._generates and fields.source:
            raise CgruError(
                f"line {number + 1}: {self._source.model.path} is a language model and does not "
                "translate; --force-decode continues lines, and an empty line generates a text"
            )
        masked, fields = self._masked(fields)
        words = self.words(masked.text, number)
        if self._source.reads_source and not self._source.reads_words:
            self._source.ids(words, number)  # to reject an unknown condition before the search
        return PreparedLine(
            number,
            words,
            self.prefix(fields.beginning, number) if fields.beginning else [],
            self._constraints(fields, masked, number),
            fields.source,
            not (words or self._takes_empty),
            masked.undo if self._plan.copying else str,
            part,
        )

    def _masked(self, fields: Fields) -> tuple[Masked, Fields]:
        """The source with placeholders, and the fields with them in beginning and phrases."""
        copying = self._plan.copying
        if copying is None:
            return Masked(fields.source), fields
        masked = copying.masked(fields.source, self._plan.placeholders)
        named = partial(copying.named, copied=masked.copied)
        beginning = fields.beginning
        return masked, Fields(
            fields.source,
            named(beginning) if isinstance(beginning, str) else beginning,
            [[*map(named, alternatives(phrases))] for phrases in fields.required],
            [*map(named, (*fields.avoided, *self._avoided_spans))],
        )

    def words(self, source: str, number: int = 0) -> list[str]:
        """The words of a source line (counted from 0). Raises CgruError like `read`."""
        return self._lines.words(source, number)

    def split(self, line: str, number: int) -> Fields:
        """The fields of a line (counted from 0), as the options say.

        Raises CgruError, naming the line, for invalid fields.
        """
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

    def _constraints(self, fields: Fields, masked: Masked, number: int) -> Constraints | None:
        """The phrases that the translation of a line (counted from 0) must and must not contain.

        masked: the source; the translation must contain each of its placeholders once, no other
        placeholder, and its other spans except those that the model cannot write. Raises CgruError,
        naming the line, for phrases that no translation can satisfy.
        """
        from ..search.constraints import Constraints

        if self._plan.settings.sampling:
            return None  # samples are drawn as the model learned to write them
        count = len(masked.copied)
        once, absent = self._placeholders[:count], self._placeholders[count:]
        copies: list[list[tuple[int, ...]]] = [[(word,)] for word in once]
        copies += self._copies(masked, number)
        banned = [*self._phrases.avoided(fields.avoided, number), *((word,) for word in absent)]
        avoided = self._avoiding(tuple(banned), tuple(itertools.chain(*copies)))
        required = self._phrases.required(fields.required, number)
        required = [*consistent(required, avoided, number), *copies]
        return Constraints.of(required, avoided, once, forced=False)

    def _copies(self, masked: Masked, number: int) -> list[list[tuple[int, ...]]]:
        """The ids of each span without a placeholder, in any of its forms.

        Within a word, such as in brackets, a span may also stand with the word's beginning, or as
        the whole word. Warns of spans that the model cannot write.
        """
        copies = []
        for span in masked.others:
            begin = masked.text.rfind(" ", 0, span.start) + 1
            rest = masked.text[span.end :].partition(" ")[0]
            begun = masked.text[begin : span.end]
            texts = [(span.text, begin < span.start), (begun, False), (begun + rest, False)]
            ids = [self._phrases.ids(text, number, within=within) for text, within in texts]
            if forms := [form for form in dict.fromkeys(ids) if form]:
                copies.append(forms)
            else:
                warn(f"line {number + 1}: the vocabulary lacks a part of {span.text!r}")
        return copies

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
