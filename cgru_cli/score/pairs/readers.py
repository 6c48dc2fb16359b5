"""Read source lines with their translations from two texts, tabs, or an n-best list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from ... import errors
from ...corpus.parallel_files import check_line_counts
from ...errors import CgruError
from ...system.lines import LineReader, Source, count_lines
from ...system.windows import windows
from ..n_best.entry import split

_ENTRY = re.compile(r" *\d+ +\|\|\| .*\|\|\| ")


class Pair(NamedTuple):
    """A source line, its translation, and its line in an n-best list."""

    source: str
    target: str
    entry: str = ""


class Pairs:
    """Reads pairs, one for each line of a text, in windows to be sorted and batched."""

    def __init__(self, lines: LineReader, sources: LineReader | None = None):
        self._lines, self._sources = lines, sources
        self._count = 0  # lines read

    def _pair(self, line: str, number: int) -> Pair:
        """The pair of a line, counted from 1. Raises CgruError for a bad line."""
        raise NotImplementedError

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        """Windows of up to mini_batch * maxi_batch pairs.

        Yields the pairs before a bad line before raising its error.
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
        """The number of sentences, with or without hypotheses; None if unknown."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._lines.close()
        if self._sources is not None:
            self._sources.close()


class Texts(Pairs):
    """Line i of one text is the translation of line i of the other; or one text without source.

    Raises CgruError if the numbers of lines differ, before reading if they can be counted.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        targets: Sequence[Source],
        reads: Callable[[str], str] = str,
    ):
        """sources: () for the text of a language model; reads: changes each line."""
        self._source_name, self._name = (_joined(names) for names in (sources, targets))
        source = LineReader(*sources, reads=reads) if sources else None
        super().__init__(LineReader(*targets, reads=reads), source)
        if sources:
            ours, theirs = count_lines(sources), count_lines(targets)
            if ours is not None and theirs is not None:
                self._check(ours, theirs)

    def windows(self, mini_batch: int, maxi_batch: int) -> Iterator[list[Pair]]:
        yield from super().windows(mini_batch, maxi_batch)
        if self._sources:
            self._check(self._count + _rest(self._sources), self._count)

    def _pair(self, line: str, number: int) -> Pair:
        if number == 1 and _ENTRY.match(line):  # its scores would look plausible but be meaningless
            raise CgruError(
                f"{self._name}: line 1 is an entry of an n-best list, not a sentence; name the "
                "list with --n-best (- for standard input) instead of --target"
            )
        if self._sources is None:
            return Pair("", line)
        source = self._sources.take(1)
        if not source:
            self._check(number - 1, self._count + _rest(self._lines))
        return Pair(source[0], line)

    def _check(self, sources: int, targets: int) -> None:
        check_line_counts((self._source_name, sources), (self._name, targets))


class TabSeparated(Pairs):
    """Lines `source TAB target`. Raises CgruError for a line with fewer or more tabs."""

    def __init__(self, source: Source, reads: Callable[[str], str] = str):
        """reads: changes each field."""
        self._name, self._reads = _joined([source]), reads
        super().__init__(LineReader(source, tell_crlf=reads is str))

    def _pair(self, line: str, number: int) -> Pair:
        fields = line.split("\t")
        if len(fields) != 2:
            raise CgruError(
                f"{self._name}: line {number}: {len(fields)} fields separated by tabs; source and "
                "target are expected"
            )
        return Pair(*map(self._reads, fields))


class NBestList(Pairs):
    """Hypotheses `number ||| text ||| ...` of a list, with the source lines of these numbers.

    Numbers count from 0 and never decrease; numbers may be missing. Without sources, the number of
    sentences is unknown. Raises CgruError for a line that is not an entry, and for a number beyond
    the source.
    """

    def __init__(self, sources: Sequence[Source], path: Source, reads: Callable[[str], str] = str):
        """reads: changes each source line and hypothesis."""
        self._name, self._source_name = _joined([path]), _joined(sources)
        source = LineReader(*sources, reads=reads) if sources else None
        super().__init__(LineReader(path), source)
        self._reads = reads
        self._at, self._source = -1, ""

    def _pair(self, line: str, number: int) -> Pair:
        with errors.at(f"{self._name}: line {number}"):
            sentence, fields = split(line)
            self._go_to(sentence)
        return Pair(self._source, self._reads(fields[1]), line)

    def sentences(self) -> int | None:
        return None if self._sources is None else self._at + 1 + _rest(self._sources)

    def _go_to(self, sentence: int) -> None:
        at, self._at = self._at, sentence
        if sentence < at:
            raise CgruError(f"hypothesis of sentence {sentence} after sentence {at}")
        if self._sources is None or sentence == at:
            return
        skipped = self._sources.take(sentence - at)
        if len(skipped) < sentence - at:
            raise CgruError(
                f"hypothesis of sentence {sentence}, but {self._source_name} has "
                f"{at + 1 + len(skipped)} lines"
            )
        self._source = skipped[-1]


def _joined(sources: Sequence[Source]) -> str:
    return " ".join("standard input" if one in (None, "-") else str(one) for one in sources)


def _rest(reader: LineReader) -> int:
    return sum(map(len, iter(lambda: reader.window(4096), [])))
