"""A line of input, or a part of one, ready for a search."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..search.constraints import Constraints
    from ..search.hypotheses import SearchResult


class PreparedLine(NamedTuple):
    """A line of input, or a part of one, as the models read it."""

    number: int  # of the line, counted from 0
    source: list[str]  # the words of the line
    prefix: list[int]  # ids of the beginning of the translation
    constraints: Constraints | None = None  # phrases that the translation must or must not contain
    text: str = ""  # the source as text
    empty: bool = False  # whether the line has no words
    undo: Callable[[str], str] = str  # puts copied spans in the place of placeholders
    part: int = 0  # of the line, counted from 0
    more: int | None = None  # the number of words after the prefix at which to end, if limited

    @property
    def needed(self) -> int:
        """The number of words, with EOS, of the shortest translation with the required phrases."""
        return self.constraints.required.fewest_words if self.constraints else 0

    def accepted(self, results: Sequence[SearchResult]) -> Sequence[SearchResult] | None:
        """The results with all required phrases; None if the best one lacks a phrase.

        Most translations have the copied spans in the right places anyway, so phrases are forced
        only in the second search of a line.
        """
        if self.constraints is None or self.constraints.forced:
            return results
        kept = [one for one in results if self.constraints.satisfied_by(one.words.tolist())]
        return kept if kept and kept[0] is results[0] else None

    def forced(self) -> PreparedLine:
        """The line for the second search."""
        assert self.constraints  # noqa: S101 - for types: they were not satisfied
        return self._replace(constraints=dataclasses.replace(self.constraints, forced=True))
