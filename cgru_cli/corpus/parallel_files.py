"""Read files line by line in parallel: both languages, alignments and weights."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ..errors import CgruError
from ..system.lines import LineReader

CHUNK = 4096  # lines read and encoded together
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class TsvField(os.PathLike[str]):
    """One of the tab-separated fields of each line of a file; number: of the field, from 0."""

    path: str
    number: int
    fields: int

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def of(self, lines: list[str], done: int) -> list[str]:
        """The field of each line; missing fields are empty, as in Marian.

        done: the number of earlier lines. Raises CgruError, naming the line, for too many fields.
        """
        rows = [line.split("\t") for line in lines]
        for i, row in enumerate(rows, done + 1):
            if len(row) > self.fields:
                raise CgruError(
                    f"{self}: line {i}: {len(row)} fields separated by tabs, where {self.fields} "
                    "are expected (--tsv-fields)"
                )
        return [row[self.number] if self.number < len(row) else "" for row in rows]


def text_lines(text: PathLike) -> Iterator[str]:
    """The lines of a file, or one field of each. Raises CgruError like `TsvField.of`."""
    with LineReader(text) as reader:
        done = 0
        while lines := reader.take(CHUNK):
            yield from text.of(lines, done) if isinstance(text, TsvField) else lines
            done += len(lines)


class Files(NamedTuple):
    """Parallel files: a text, and what belongs to its lines."""

    source: PathLike | None  # None for a language model
    target: PathLike
    alignment: PathLike | None = None  # see `word_alignments`
    weight: PathLike | None = None  # see `data_weights`
    factor: float | None = None  # of all weights; None: 1


Line = tuple[str | None, str, str | None, str | None]  # of each of `Files`; None without a file


def parallel(files: Files) -> Iterator[list[Line]]:
    """The parallel lines, CHUNK at a time.

    Reads a file with several fields only once. Raises CgruError if one file is longer than
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
            sides: list[Any] = []
            for path in paths:
                if isinstance(path, TsvField):
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
    """Raise CgruError if two files, each with its number of lines, differ in length."""
    if first[1] != second[1]:
        raise CgruError(
            f"{first[0]} has {first[1]:,} lines and {second[0]} {second[1]:,}; line i of one must "
            "belong to line i of the other"
        )
