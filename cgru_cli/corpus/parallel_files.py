"""Files that are read side by side: of both languages, with alignments and weights."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ..errors import CgruError
from ..system.lines import LineReader

CHUNK = 4096  # lines read and encoded together
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class TsvColumn(os.PathLike[str]):
    """One of the fields between tabs in the lines of a file.

    column: its number, from 0; columns: how many a line has.
    """

    path: str
    column: int
    columns: int

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def split(self, line: str, number: int) -> list[str]:
        """The fields of a line of the file; as Marian has it, those that it lacks are empty.

        Raises CgruError, naming the number of the line, for more fields than there should be.
        """
        fields = line.split("\t")
        if len(fields) > self.columns:
            raise CgruError(
                f"{self}: line {number}: {len(fields)} fields between tabs, where {self.columns} "
                "are expected (--tsv-fields)"
            )
        return fields + [""] * (self.columns - len(fields))


def text_lines(text: PathLike) -> Iterator[str]:
    """The lines of a file, or one field of each. Raises CgruError as `TsvColumn.split`."""
    with LineReader(text) as reader:
        done = 0
        while lines := reader.take(CHUNK):
            if isinstance(text, TsvColumn):
                numbered = enumerate(lines, done + 1)
                yield from (text.split(line, number)[text.column] for number, line in numbered)
            else:
                yield from lines
            done += len(lines)


@dataclass(frozen=True)
class Beside:
    """Alignments and weights of the text: none, or one file or number for each pair of files.

    alignments: files of `word_alignments`; weights: files of weights, of sentences or `by_word`;
    domains: what the weights of all lines of a pair of files are multiplied by; from_end: whether
    targets are encoded last word first, which files are not; both_from_end: whether both sides are
    kept last word first, turned after they were cut, as Marian does it.
    """

    alignments: tuple[PathLike, ...] = ()
    weights: tuple[PathLike, ...] = ()
    by_word: bool = False
    domains: tuple[float, ...] = ()
    from_end: bool = False
    both_from_end: bool = False

    @property
    def weighted(self) -> bool:
        return bool(self.weights or self.domains)


class Files(NamedTuple):
    """Files whose lines i belong together, and the factor of their weights."""

    source: PathLike | None
    target: PathLike
    alignment: PathLike | None
    weight: PathLike | None
    factor: float


class Lines(NamedTuple):
    """Some parallel lines, the first of which is line `first` of its file."""

    files: Files
    first: int
    source: list[str] | None
    target: list[str]
    alignment: list[str] | None
    weight: list[str] | None


def files_of(
    sources: Sequence[PathLike], targets: Sequence[PathLike], beside: Beside
) -> Iterator[Files]:
    """The files that belong together, pair by pair; sources may be ()."""
    none = [None] * len(targets)
    columns = (
        sources or none,
        targets,
        beside.alignments or none,
        beside.weights or none,
        beside.domains or [1.0] * len(targets),
    )
    return itertools.starmap(Files, zip(*columns, strict=True))


def parallel(files: Files) -> Iterator[Lines]:
    """The lines of files, CHUNK at a time. Raises CgruError if one is longer than another.

    What is named twice, as a file of several columns is, is read once.
    """
    paths = files[:4]
    with contextlib.ExitStack() as stack:
        readers = {
            path: stack.enter_context(LineReader(path))
            for path in dict.fromkeys(os.fspath(path) for path in paths if path is not None)
        }
        done = 0
        while True:
            lines = {path: reader.take(CHUNK) for path, reader in readers.items()}
            count = len(lines[os.fspath(files.target)])
            if any(len(taken) != count for taken in lines.values()):
                _refuse(files, readers, {path: done + len(taken) for path, taken in lines.items()})
            if not count:
                return
            source, target, alignments, weights = (_side(path, lines, done) for path in paths)
            yield Lines(files, done + 1, source, target or [], alignments, weights)
            done += count


def _side(path: PathLike | None, lines: dict[str, list[str]], done: int) -> list[str] | None:
    """The lines read from a file, or one column of them; done: lines read before."""
    if path is None:
        return None
    whole = lines[os.fspath(path)]
    if not isinstance(path, TsvColumn):
        return whole
    return [path.split(line, number)[path.column] for number, line in enumerate(whole, done + 1)]


def _refuse(files: Files, readers: dict[str, LineReader], counts: dict[str, int]) -> NoReturn:
    """Raises CgruError for files of different numbers of lines; counts: lines read so far."""
    for path, reader in readers.items():
        while rest := reader.window(CHUNK):
            counts[path] += len(rest)
    of_target = counts[os.fspath(files.target)]
    for path in counts:
        check_line_counts((path, counts[path]), (files.target, of_target))
    raise AssertionError("the files have as many lines")


def check_line_counts(first: tuple[PathLike, int], second: tuple[PathLike, int]) -> None:
    """Raises CgruError if two files, given with their numbers of lines, differ in them."""
    if first[1] != second[1]:
        raise CgruError(
            f"{first[0]} has {first[1]:,} lines and {second[0]} {second[1]:,}; line i of one must "
            "belong to line i of the other"
        )
