"""Input lines as the models read them, with the constraints on their translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CgruError
from ..formats.loaded_model import LoadedModel
from ..parameters.structure import Type
from .phrases import Fields, Phrases, check_consistent, split_line
from .plan import SearchPlan

if TYPE_CHECKING:
    from ..search.constraints import Constraints


class Request(NamedTuple):
    """A line of input."""

    source: list[str]  # its words
    prefix: list[int]  # ids that its translation begins with
    constraints: Constraints | None = None  # phrases that its translation must or must not contain
    text: str = ""  # the source as text
    empty: bool = False  # there is nothing to translate


class RequestReader:
    """Reads lines, and phrases that their translations must or must not contain."""

    def __init__(self, plan: SearchPlan, target: LoadedModel, source: LoadedModel):
        """target: the model whose words translations have; source: the model whose words lines
        have, or the target's where no model reads a source.
        """
        self._plan, self._target, self._source = plan, target, source
        self._generates = not source.reads_source
        # an empty line gets a text of a language model, or a label
        classifies = target.model.structure.type is Type.CLASSIFIER
        self._takes_empty = self._generates or classifies
        self._lines = source.source_lines(plan.reading)
        self._phrases = Phrases(target, plan.reading)
        avoid = plan.options.avoid
        self._avoided = self._phrases.read_avoided(avoid) if avoid else []

    def report(self) -> None:
        """Warn of lines that were cut."""
        self._lines.report()

    def read(self, line: str | Fields, number: int) -> Request:
        """A line (counted from 0) as the models read it; the options say how to split text.

        Raises CgruError where it cannot be prepared, where it is a source and the model is a
        language model, and where it is not a condition that this model knows.
        """
        fields = self._split(line, number) if isinstance(line, str) else line
        source, prefix = fields.source, fields.beginning
        if self._generates and source:
            raise CgruError(
                f"line {number + 1}: {self._source.model.path} is a language model and translates "
                "nothing; with --force-decode it continues lines, and empty lines give texts of "
                "its own"
            )
        words = self.words(source, number)
        if self._source.reads_source and not self._source.reads_words:
            self._source.ids(words, number)  # an unknown condition is refused before the search
        return Request(
            words,
            self.prefix(prefix, number) if prefix else [],
            self.constraints(fields.required, fields.avoided, number),
            source,
            empty=not (words or self._takes_empty),
        )

    def words(self, source: str, number: int = 0) -> list[str]:
        """The words of a source line (counted from 0). Raises CgruError as `read` does."""
        return self._lines.words(source, number)

    def _split(self, line: str, number: int) -> Fields:
        options = self._plan.options
        count = line.count("\t") + 1
        if options.tsv and options.constraints != "tabs" and count > 1 + options.force_decode:
            raise CgruError(
                f"line {number + 1}: {count} fields between tabs; with --tsv the source is "
                "expected or, with --force-decode, the beginning of its translation too"
            )
        fields = Fields(line)
        if options.constraints or options.force_decode:
            after_tab = options.force_decode and not self._generates
            fields = split_line(line, number, options.constraints, after_tab)
        if self._generates and options.force_decode:  # a language model continues the whole line
            return fields._replace(source="", beginning=fields.source)
        return fields

    def constraints(
        self, required: Sequence[str], avoided: Sequence[str], number: int
    ) -> Constraints | None:
        """The phrases that the translation of a line (counted from 0) must and must not contain.

        Raises CgruError, naming the line, for phrases that no translation can satisfy.
        """
        from ..search.constraints import Constraints

        must = self._phrases.required(required, number)
        must_not = [*self._avoided, *self._phrases.avoided(avoided, number)]
        if must and must_not:
            check_consistent(must, must_not, number)
        return Constraints.of(must, must_not)

    def prefix(self, begun: str | Sequence[str], number: int) -> list[int]:
        """The ids of the words that the translation of a line (counted from 0) begins with.

        begun: text, or words of the model. Raises CgruError where text cannot be prepared.
        """
        if isinstance(begun, str):
            begun = self._target.target_words(begun, number, self._plan.reading)
        return self._target.target.encode(begun)
