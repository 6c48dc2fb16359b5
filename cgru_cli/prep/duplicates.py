"""Repeated sentence pairs, found by sorting digests on disk."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

# Two different pairs of 10**9 have the same digest of 16 bytes with probability 10**-21.
_RECORD = np.dtype([("digest", "S16"), ("number", ">u8")])
_PARTITIONS = 64


def digest(source: str, target: str) -> bytes:
    """The digest of a pair, 16 bytes: BLAKE2b of both lines."""
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=16).digest()


class Duplicates:
    """Finds repeated pairs by digests in 64 temporary files, which are sorted one at a time."""

    def __init__(self, folder: Path):
        """folder: of the temporary files."""
        self._count = 0
        self._files = [
            tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `first`
            for _ in range(_PARTITIONS)
        ]

    def add(self, digests: Iterable[bytes]) -> None:
        for value in digests:
            file = self._files[value[0] % _PARTITIONS]
            file.write(value + self._count.to_bytes(8, "big"))
            self._count += 1

    def first(self) -> np.ndarray:
        """Whether no equal pair came before, for each pair: (N,) bool. Closes the files."""
        first = np.zeros(self._count, bool)
        for file in self._files:
            with file:
                file.seek(0)
                records = np.fromfile(file, _RECORD)
            _, places = np.unique(records["digest"], return_index=True)
            first[records["number"][places]] = True
        return first
