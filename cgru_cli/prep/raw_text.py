"""Raw text files, plain or `.gz`: read in chunks of lines, counted, hashed."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from ..errors import CgruError, reading

LINES, BYTES = 2000, 1 << 20  # of a chunk
BOM = b"\xef\xbb\xbf"


def check(path: str | os.PathLike[str]) -> None:
    """Raise CgruError if the path is not a file that can be read, and read again, or its name is
    none that the folder's records can hold.
    """
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise CgruError(f"{path}: its name is not UTF-8; give it another") from error
    with reading(path):
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                return
    raise CgruError(f"{path}: not a regular file, and it is read more than once; name a file")


def sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Lines as bytes, without their newline and without a byte order mark.

    The last line counts without a newline too. Raises CgruError where the file cannot be read.
    """
    with reading(path):
        packed = os.fspath(path).endswith(".gz")
        if packed and not os.path.getsize(path):  # which Python's gzip takes for an empty text
            raise EOFError("it is empty")
        with gzip.open(path) if packed else open(path, "rb") as file:
            first = True
            for line in file:
                if first:
                    line, first = line.removeprefix(BOM), False
                yield line.removesuffix(b"\n")


def count_lines(path: str | os.PathLike[str]) -> int:
    """Number of lines; the last counts without a newline too."""
    return sum(1 for _ in read_lines(path))


def chunks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in lists of up to 2,000 lines and, unless it is one line, about 1 MiB."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if len(chunk) == LINES or size >= BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def pairs(
    sources: Iterable[bytes], targets: Iterable[bytes]
) -> Iterator[list[tuple[bytes, bytes]]]:
    """The lines of two texts of equal length in chunks of pairs."""
    chunk: list[tuple[bytes, bytes]] = []
    size = 0
    for source, target in zip_longest(sources, targets):
        if source is None or target is None:
            raise CgruError("a text changed while it was read; run the command again")
        chunk.append((source, target))
        size += len(source) + len(target)
        if len(chunk) == LINES or size >= BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
