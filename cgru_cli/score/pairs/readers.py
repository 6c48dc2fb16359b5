"""Source lines and their translations read together: from two texts, tabs, or an n-best list."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from ...corpus.parallel_files import check_line_counts
from ...errors import CgruError
from ...system.lines import LineReader, Source, count_lines
from ...system.windows import windows
from ..n_best.entry import split

_ENTRY = re.compile(r" *\d+ +\|\|\| .*\|\|\| ")


class Pair(NamedTuple):
    """A source line, its translation, and the line of an n-best list that it comes from."""

    source: str
    target: str
    entry: str = ""


class Pairs(ABC):
    """Pairs, one for each line of a text, in windows to be sorted and batched together."""

    def __init__(self, lines: LineReader, sources: LineReader | None = None):
        self._lines, self._sources = lines, sources
        self._count = 0  # lines read

    @abstractmethod
    def _pair(self, line: str, number: int) -> Pair:
        """The pair of a line, counted from 1. Raises CgruError for a bad line."""

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        """Up to mini_batch * maxi_batch pairs each time. The pairs before a bad line are given
        before its error is raised.
        """
        for lines in windows(self._lines, mini_batch, maxi_batch):
            first = self._count + 1
            self._count += len(lines)
            window: list[Pair] = []
            try:
                for number, line in enumerate(lines, first):
                    window.append(self._pair(line, number))
            except CgruError:
                if window:
                    yield window
                raise
            yield window

    def sentences(self) -> int | None:
        """The number of sentences, with or without hypotheses; None if it is unknown."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._lines.close()
        if self._sources is not None:
            self._sources.close()


class TwoTexts(Pairs):
    """Line i of one text is the translation of line i of the other.

    Raises CgruError where their numbers of lines differ: at once where they can be counted.
    """

    def __init__(self, sources: Sequence[Source], targets: Sequence[Source]):
        self._names = " ".join(map(str, sources)), " ".join(map(str, targets))
        self._source_lines = LineReader(*sources)
        super().__init__(LineReader(*targets), self._source_lines)
        ours, theirs = count_lines(sources), count_lines(targets)
        if ours is not None and theirs is not None:
            self._check(ours, theirs)

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        yield from super().windows(mini_batch, maxi_batch)
        self._check(self._count + _rest(self._source_lines), self._count)

    def _pair(self, line: str, number: int) -> Pair:
        if number == 1:
            _check_sentence(line, self._names[1])
        source = self._source_lines.take(1)
        if not source:
            self._check(number - 1, self._count + _rest(self._lines))
        return Pair(source[0], line)

    def _check(self, sources: int, targets: int) -> None:
        check_line_counts((self._names[0], sources), (self._names[1], targets))


class OneText(Pairs):
    """Lines of a text for a language model, without source."""

    def __init__(self, texts: Sequence[Source]):
        self._name = " ".join(str(text or "-") for text in texts)
        super().__init__(LineReader(*texts))

    def _pair(self, line: str, number: int) -> Pair:
        if number == 1:
            _check_sentence(line, self._name)
        return Pair("", line)


class TabSeparated(Pairs):
    """Lines `source TAB target`. Raises CgruError for a line with fewer or more tabs."""

    def __init__(self, source: Source):
        self._name = source if source not in (None, "-") else "standard input"
        super().__init__(LineReader(source))

    def _pair(self, line: str, number: int) -> Pair:
        fields = line.split("\t")
        if len(fields) != 2:
            raise CgruError(
                f"{self._name}: line {number}: {len(fields)} fields between tabs; source and "
                "target are expected"
            )
        return Pair(*fields)


class NBestList(Pairs):
    """Hypotheses `number ||| text ||| ...` of a list, with the source lines of those numbers.

    Numbers count from 0 and never decrease; some may be left out. Without sources the number of
    the last sentence is unknown. Raises CgruError for a line that is no entry, and for a number
    beyond the source.
    """

    def __init__(self, sources: Sequence[Source], path: Source):
        self._name, self._source_name = str(path), " ".join(map(str, sources))
        super().__init__(LineReader(path), LineReader(*sources) if sources else None)
        self._at, self._source = -1, ""

    def _pair(self, line: str, number: int) -> Pair:
        try:
            i, fields = split(line)
            self._go_to(i)
        except CgruError as error:
            raise CgruError(f"{self._name}: line {number}: {error}") from None
        return Pair(self._source, fields[1], line)

    def sentences(self) -> int | None:
        return None if self._sources is None else self._at + 1 + _rest(self._sources)

    def _go_to(self, i: int) -> None:
        """Read on to the source line of sentence i."""
        at, self._at = self._at, i
        if i < at:
            raise CgruError(f"hypothesis of sentence {i} after one of {at}")
        if self._sources is None or i == at:
            return
        skipped = self._sources.take(i - at)
        if len(skipped) < i - at:
            raise CgruError(
                f"hypothesis of sentence {i}, but {self._source_name} has "
                f"{at + 1 + len(skipped)} lines"
            )
        self._source = skipped[-1]


def _check_sentence(line: str, name: str) -> None:
    """Raise CgruError where the first line of a file of sentences is an entry of an n-best list.

    Its scores would look right, and mean nothing.
    """
    if _ENTRY.match(line):
        name = "standard input" if name == "-" else name
        raise CgruError(
            f"{name}: line 1 is an entry of an n-best list, no sentence; name the list with "
            "--n-best (- for standard input) instead of --target"
        )


def _rest(reader: LineReader) -> int:
    """How many lines are left."""
    count = 0
    while lines := reader.window(4096):
        count += len(lines)
    return count
