"""Read raw text files, plain or `.gz`, in chunks of lines."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ..errors import CgruError, reading
from ..system.lines import byte_lines

LINES, BYTES = 2000, 1 << 20  # per chunk
BOM = b"\xef\xbb\xbf"
Item = TypeVar("Item")
Pair = tuple[bytes, bytes]
Numbered = tuple[str, int, list[Item]]  # file, number of the first line, lines or pairs


def check(path: str | os.PathLike[str]) -> None:
    """Raise CgruError unless the path is a readable regular file, with a name in UTF-8."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise CgruError(f"{path}: its name is not UTF-8; rename it") from error
    with reading(path):
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                return
    raise CgruError(f"{path}: not a regular file, and it is read more than once; name a file")


def read_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The `byte_lines` of a file, without newlines and a byte order mark."""
    for number, line in enumerate(byte_lines(path)):
        line = line.removesuffix(b"\n")
        yield line if number else line.removeprefix(BOM)


def chunks(items: Iterable[Item], size: Callable[[Any], int] = len) -> Iterator[list[Item]]:
    """Lines (or pairs) in lists of up to 2,000 lines and about 1 MiB, or of a longer line."""
    chunk: list[Item] = []
    total = 0
    for item in items:
        chunk.append(item)
        total += size(item)
        if len(chunk) == LINES or total >= BYTES:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def numbered(path: str, chunks: Iterable[list[Item]]) -> Iterator[Numbered[Item]]:
    """Each chunk of a file, with the file and the number of the chunk's first line."""
    number = 1
    for chunk in chunks:
        yield path, number, chunk
        number += len(chunk)


def pairs(sources: Iterable[bytes], targets: Iterable[bytes]) -> Iterator[list[Pair]]:
    """The lines of two texts of equal length in chunks of pairs."""
    together = zip(sources, targets, strict=True)
    try:
        yield from chunks(together, lambda pair: len(pair[0]) + len(pair[1]))
    except ValueError as error:
        raise CgruError("a text changed while it was being read; run the command again") from error
