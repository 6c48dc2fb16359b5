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
class Beside:
    """What goes with the lines of text: nothing, or as many files or numbers as pairs of files.

    alignments: files of `word_alignments`; weights: files of weights, of sentences or `by_word`;
    domains: what the weights of all lines of a pair of files are multiplied by; from_end: whether
    targets are encoded last word first, which files are not.
    """

    alignments: tuple[PathLike, ...] = ()
    weights: tuple[PathLike, ...] = ()
    by_word: bool = False
    domains: tuple[float, ...] = ()
    from_end: bool = False

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
    """What belongs together; sources may be ()."""
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
    """The lines of files, CHUNK at a time. Raises CgruError if one is longer than another."""
    with contextlib.ExitStack() as stack:
        readers = [
            None if path is None else stack.enter_context(LineReader(os.fspath(path)))
            for path in files[:4]
        ]
        done = 0
        while True:
            taken = [None if reader is None else reader.take(CHUNK) for reader in readers]
            count = len(taken[1] or ())
            if any(lines is not None and len(lines) != count for lines in taken):
                _refuse(files, readers, [done + len(lines or ()) for lines in taken])
            if not count:
                return
            source, target, alignments, weights = taken
            yield Lines(files, done + 1, source, target or [], alignments, weights)
            done += count


def _refuse(files: Files, readers: Sequence[LineReader | None], counts: list[int]) -> NoReturn:
    """Raises CgruError for files of other numbers of lines; counts: of what was read so far."""
    for side, reader in enumerate(readers):
        while reader is not None and (rest := reader.window(CHUNK)):
            counts[side] += len(rest)
    for side in (0, 2, 3):
        path = files[:4][side]
        if path is not None:
            check_line_counts((path, counts[side]), (files.target, counts[1]))
    raise AssertionError("the files have as many lines")


def check_line_counts(first: tuple[PathLike, int], second: tuple[PathLike, int]) -> None:
    """Raises CgruError where two files, each with its number of lines, have not as many."""
    if first[1] != second[1]:
        raise CgruError(
            f"{first[0]} has {first[1]:,} lines and {second[0]} {second[1]:,}; line i of one must "
            "belong to line i of the other"
        )
