"""Source lines and their translations read together: from two texts, tabs, or an n-best list."""

from __future__ import annotations

import itertools
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
    """Pairs in order, in windows to be sorted and batched together."""

    @abstractmethod
    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        """Up to mini_batch * maxi_batch pairs each time."""

    @abstractmethod
    def close(self) -> None:
        """Close the files."""

    def sentences(self) -> int | None:
        """The number of sentences, with or without hypotheses; None if it is unknown."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class TwoTexts(Pairs):
    """Line i of one is the translation of line i of the other.

    Raises CgruError where they have not as many lines: at once where they can be counted.
    """

    def __init__(self, sources: Sequence[Source], targets: Sequence[Source]):
        self._names = " ".join(map(str, sources)), " ".join(map(str, targets))
        self._sources, self._targets = LineReader(*sources), LineReader(*targets)
        ours, theirs = count_lines(sources), count_lines(targets)
        if ours is not None and theirs is not None:
            self._check(ours, theirs)

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        done = 0
        for targets in windows(self._targets, mini_batch, maxi_batch):
            if not done:
                check_sentence(targets[0], self._names[1])
            sources = self._sources.take(len(targets))
            yield list(map(Pair, sources, targets))
            if len(sources) < len(targets):
                rest = _rest(self._targets)
                self._check(done + len(sources), done + len(targets) + rest)
            done += len(targets)
        self._check(done + _rest(self._sources), done)

    def _check(self, sources: int, targets: int) -> None:
        check_line_counts((self._names[0], sources), (self._names[1], targets))

    def close(self) -> None:
        self._sources.close()
        self._targets.close()


class OneText(Pairs):
    """Lines of a text for a language model, without source."""

    def __init__(self, texts: Sequence[Source]):
        self._name = " ".join(str(text or "-") for text in texts)
        self._reader = LineReader(*texts)

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        first = True
        for lines in windows(self._reader, mini_batch, maxi_batch):
            if first:
                check_sentence(lines[0], self._name)
                first = False
            yield [Pair("", line) for line in lines]

    def close(self) -> None:
        self._reader.close()


class TabSeparated(Pairs):
    """Lines `source TAB target`. Raises CgruError for a line with fewer or more tabs."""

    def __init__(self, source: Source):
        self._name = source if source not in (None, "-") else "standard input"
        self._reader = LineReader(source)

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        numbers = itertools.count(1)
        for lines in windows(self._reader, mini_batch, maxi_batch):
            yield from _before_errors(map(self._pair, lines, numbers))

    def _pair(self, line: str, number: int) -> Pair:
        fields = line.split("\t")
        if len(fields) != 2:
            raise CgruError(
                f"{self._name}: line {number}: {len(fields)} fields between tabs; source and "
                "target are expected"
            )
        return Pair(*fields)

    def close(self) -> None:
        self._reader.close()


class NBestList(Pairs):
    """Hypotheses `number ||| text ||| ...` of a list, with the source lines of those numbers.

    Numbers count from 0 and may be left out, but not go back; without sources there is no last
    one. Raises CgruError for a list that is none, or goes beyond the source.
    """

    def __init__(self, sources: Sequence[Source], path: Source):
        self._name = str(path)
        self._sources = LineReader(*sources) if sources else None
        self._list = LineReader(path)
        self._source_name = " ".join(map(str, sources))
        self._at, self._source = -1, ""

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        numbers = itertools.count(1)
        for entries in windows(self._list, mini_batch, maxi_batch):
            yield from _before_errors(map(self._pair, entries, numbers))

    def _pair(self, entry: str, number: int) -> Pair:
        try:
            i, fields = split(entry)
            self._go_to(i)
        except CgruError as error:
            raise CgruError(f"{self._name}: line {number}: {error}") from None
        return Pair(self._source, fields[1], entry)

    def sentences(self) -> int | None:
        """The number of sentences, from the source; None without a source."""
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

    def close(self) -> None:
        if self._sources is not None:
            self._sources.close()
        self._list.close()


def check_sentence(line: str, name: str) -> None:
    """Raise CgruError where the first line of a text, by its file's name, is one of an n-best list.

    A list that is taken for sentences gets scores, and nobody would see that they are of nothing.
    """
    if _ENTRY.match(line):
        name = "standard input" if name == "-" else name
        raise CgruError(
            f"{name}: line 1 is an entry of an n-best list, no sentence; name the list with "
            "--n-best (- for standard input) instead of --target"
        )


def _before_errors(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    """The pairs of a window; if a line is bad, those before it, then the error."""
    window = []
    try:
        for pair in pairs:
            window.append(pair)
    except CgruError:
        if window:
            yield window
        raise
    yield window


def _rest(reader: LineReader) -> int:
    """How many lines are left."""
    count = 0
    while lines := reader.window(4096):
        count += len(lines)
    return count
