"""Read files line by line in parallel: both languages, alignments and weights."""

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
    """One tab-separated field of the lines of a file: number `column`, from 0, of `columns`."""

    path: str
    column: int
    columns: int

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def split(self, line: str, number: int) -> list[str]:
        """The fields of a line; missing fields are empty, as in Marian.

        Raises CgruError, naming the number of the line, for too many fields.
        """
        fields = line.split("\t")
        if len(fields) > self.columns:
            raise CgruError(
                f"{self}: line {number}: {len(fields)} fields separated by tabs, where "
                f"{self.columns} are expected (--tsv-fields)"
            )
        return fields + [""] * (self.columns - len(fields))

    def of(self, lines: list[str], done: int) -> list[str]:
        """The field of each line; done: the number of earlier lines."""
        return [self.split(line, i)[self.column] for i, line in enumerate(lines, done + 1)]


def text_lines(text: PathLike) -> Iterator[str]:
    """The lines of a file, or one field of each. Raises CgruError like `TsvColumn.split`."""
    with LineReader(text) as reader:
        done = 0
        while lines := reader.take(CHUNK):
            yield from text.of(lines, done) if isinstance(text, TsvColumn) else lines
            done += len(lines)


@dataclass(frozen=True)
class Beside:
    """Alignments and weights of the text: none, or one file or number for each pair of files.

    alignments: files of `word_alignments`; weights: files of weights of sentences or, if by_word,
    of words; domains: a factor for all weights of a pair of files; from_end: whether encoders
    reverse the targets, so that alignments and weights must follow; both_from_end: reverse both
    sides after cutting them, as Marian does; places: record the place of each target among all
    words read.
    """

    alignments: tuple[PathLike, ...] = ()
    weights: tuple[PathLike, ...] = ()
    by_word: bool = False
    domains: tuple[float, ...] = ()
    from_end: bool = False
    both_from_end: bool = False
    places: bool = False

    @property
    def weighted(self) -> bool:
        return bool(self.weights or self.domains)


class Files(NamedTuple):
    """Parallel files, and the factor of their weights."""

    source: PathLike | None
    target: PathLike
    alignment: PathLike | None
    weight: PathLike | None
    factor: float


def files_of(
    sources: Sequence[PathLike], targets: Sequence[PathLike], beside: Beside
) -> Iterator[Files]:
    """Each pair of files, with its alignments and weights; sources may be ()."""
    none = [None] * len(targets)
    factors = beside.domains or [1.0] * len(targets)
    beside_them = beside.alignments or none, beside.weights or none, factors
    return itertools.starmap(Files, zip(sources or none, targets, *beside_them, strict=True))


def parallel(files: Files) -> Iterator[list[tuple]]:
    """The parallel lines (source, target, alignment, weight), CHUNK at a time; None for no file.

    Reads a file with several columns only once. Raises CgruError if one file is longer than
    another.
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
            sides: list[Sequence[str | None]] = []
            for path in paths:
                if isinstance(path, TsvColumn):
                    sides.append(path.of(lines[path.path], done))
                else:
                    sides.append([None] * count if path is None else lines[os.fspath(path)])
            yield list(zip(*sides, strict=True))
            done += count


def _refuse(files: Files, readers: dict[str, LineReader], counts: dict[str, int]) -> NoReturn:
    """Raise CgruError for files of different lengths; counts: lines read so far."""
    for path, reader in readers.items():
        while rest := reader.window(CHUNK):
            counts[path] += len(rest)
    of_target = counts[os.fspath(files.target)]
    for path in counts:
        check_line_counts((path, counts[path]), (files.target, of_target))
    raise AssertionError("the files have equally many lines")


def check_line_counts(first: tuple[PathLike, int], second: tuple[PathLike, int]) -> None:
    """Raise CgruError if two files, given with their numbers of lines, differ in length."""
    if first[1] != second[1]:
        raise CgruError(
            f"{first[0]} has {first[1]:,} lines and {second[0]} {second[1]:,}; line i of one must "
            "belong to line i of the other"
        )
