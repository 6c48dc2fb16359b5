"""The files of pairs: on each line repository, file, source and target, between tabs, gzipped."""

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cgru_cli.errors import CgruError, reading
from cgru_cli.system.atomic_files import atomic_write


class Pair(NamedTuple):
    """A source line and its translation, with the number of their document."""

    document: int  # 0 to 99: SHA-1 of "repository/file", modulo 100
    source: str
    target: str


def read(path: str | Path) -> Iterator[Pair]:
    """The pairs of a file, in its order. Raises CgruError if a line does not have four fields."""
    with reading(path), gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\n").split("\t")
            if len(fields) != 4:
                raise CgruError(
                    f"{path}: line {number} has {len(fields)} fields; four are expected: "
                    "repository, file, source and target, between tabs"
                )
            digest = hashlib.sha1("/".join(fields[:2]).encode()).hexdigest()
            yield Pair(int(digest, 16) % 100, fields[2], fields[3])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text, plain, or gzipped if its name ends in .gz: completely or not at all."""
    data = "".join(f"{line}\n" for line in lines).encode()
    with atomic_write(path) as file:
        file.write(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
