"""`Session`: a search that lines join and leave while it runs, for servers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..errors import CgruError
from .phrases import Fields, PreparedLine, Requirement
from .results import Translation

if TYPE_CHECKING:
    from ..search.hypotheses import SearchResult
    from ..search.settings import SearchSettings
    from .line_search import LineSearch


class Session:
    """A search that lines join and leave after any word: continuous batching.

    Each step extends all live hypotheses by a word. One thread at a time may use a session; those
    of a translator share its networks, and run side by side.
    """

    def __init__(self, search: LineSearch, settings: SearchSettings):
        """settings: instead of those of the search's plan."""
        from ..search.beam import BeamSearch, max_tokens_of

        self._search, self._settings = search, settings
        self._beam = BeamSearch(settings)
        self.beam_size: int = settings.beam_size
        structures = [loaded.model.structure for loaded in search.models]
        # source words, padded and with EOS, that the workspace has memory for
        self.max_words: int = max_tokens_of(
            search.plan.options.workspace, self.beam_size, structures
        )
        self._live: dict[int, PreparedLine] = {}
        self._admitted = 0

    @property
    def rows(self) -> int:
        """The number of live hypotheses."""
        return len(self._beam.rows.sentence)

    def read(
        self,
        text: str,
        number: int = 0,
        *,
        prefix: str | Sequence[str] = "",
        constraints: Sequence[Requirement] = (),
        avoid: Sequence[str] = (),
        more: int | None = None,
    ) -> PreparedLine:
        """A line, ready to be admitted; number: for messages, and to seed samples, from 0.

        prefix, constraints, avoid: as in `Translator.translate`, for one line. more: end after this
        number of words beyond the prefix. Raises CgruError for a line, a prefix or phrases that the
        models cannot read.
        """
        target = self._search.models[0]
        if (constraints or avoid) and not target.writes_text:
            raise CgruError("constraints, avoid: this model writes labels, not text")
        if prefix and target.right_left:
            raise CgruError("prefix: this model writes sentences right to left")
        fields = Fields(text, prefix, constraints, avoid)
        return self._search.preparer.read(fields, number)._replace(more=more)

    def unknown(self, line: PreparedLine, prefix: str | Sequence[str]) -> list[str]:
        """The words of a line's prefix that the models lack."""
        target = self._search.models[0].target
        if target.unk_id not in line.prefix:
            return []
        words = self._search.preparer.beginning(prefix, line.number)
        return [word for word in words if word not in target and word != target.unk]

    def empty(self, line: PreparedLine) -> Translation:
        """The translation of a line without words, which needs no search."""
        return self._search.results.empty(line)

    def admit(self, lines: Sequence[PreparedLine]) -> list[int]:
        """Add lines to the search; returns their numbers in it, counted from 0."""
        numbers = list(range(self._admitted, self._admitted + len(lines)))
        self._admitted += len(lines)
        self._beam.admit(self._search.begin(lines))
        self._live |= zip(numbers, lines, strict=True)
        return numbers

    def step(self) -> list[tuple[int, Translation | PreparedLine | Exception]]:
        """Extend all hypotheses by a word; the outcomes of lines that leave the search.

        An outcome is a translation, an error of this line alone, or the line itself, if its best
        translation lacks a phrase: it is to be admitted again, and then its phrases are forced.
        """
        outcomes: list[tuple[int, Translation | PreparedLine | Exception]] = []
        for number, hypotheses in self._beam.step():
            line = self._live.pop(number)
            results = line.accepted(hypotheses)
            if results is None:
                outcomes.append((number, line.forced()))
                continue
            try:
                outcomes.append((number, self._translation(line, results)))
            except Exception as error:
                outcomes.append((number, error))
        return outcomes

    def _translation(self, line: PreparedLine, results: Sequence[SearchResult]) -> Translation:
        return self._search.results.translation(line, results, self._settings)

    def give_up(self, numbers: Collection[int]) -> None:
        """Drop lines from the search, by their numbers in it."""
        self._beam.give_up(numbers)
        for number in numbers:
            self._live.pop(number, None)
