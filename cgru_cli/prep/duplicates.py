"""Repeated sentence pairs, found by sorting digests on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_DIGEST = 16  # bytes; two different pairs of 10**9 share one with probability 10**-21
_NUMBER = 8  # bytes
_PARTITIONS = 256
_BUFFER = 1 << 13  # bytes of a partition that wait to be written


def digest(source: str, target: str) -> bytes:
    """The digest of a pair, 16 bytes: BLAKE2b of both lines."""
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=_DIGEST).digest()


class Duplicates:
    """Finds repeated pairs, in memory that hardly depends on their number.

    Digests go to 256 files by their first byte, which are then read one at a time. Memory holds
    one bit per pair and a 256th of the digests (about 0.4 MB for a million pairs).
    """

    def __init__(self, folder: Path):
        """folder: made here."""
        folder.mkdir()
        self._folder = folder
        self._count = 0
        self._waiting = [bytearray() for _ in range(_PARTITIONS)]

    def add(self, digests: Iterable[bytes]) -> None:
        for value in digests:
            waiting = self._waiting[value[0]]
            waiting += value + self._count.to_bytes(_NUMBER, "big")
            self._count += 1
            if len(waiting) >= _BUFFER:
                self._write(value[0])

    def _write(self, partition: int) -> None:
        if self._waiting[partition]:
            with open(self._path(partition), "ab") as file:
                file.write(self._waiting[partition])
            self._waiting[partition].clear()

    def _path(self, partition: int) -> Path:
        return self._folder / f"{partition:02x}"

    def repeated(self) -> bytearray:
        """One bit per pair, lowest first: whether an equal pair came before."""
        bits = bytearray((self._count + 7) // 8)
        for i in range(_PARTITIONS):
            self._write(i)
            if not self._path(i).exists():
                continue
            seen: set[bytes] = set()
            for value, number in _records(self._path(i)):
                if value in seen:
                    bits[number >> 3] |= 1 << (number & 7)
                seen.add(value)
        return bits


def is_set(bits: bytearray, number: int) -> bool:
    """Bit `number` of `Duplicates.repeated`."""
    return bool(bits[number >> 3] >> (number & 7) & 1)


def _records(path: Path) -> Iterator[tuple[bytes, int]]:
    with open(path, "rb") as file:
        while record := file.read(_DIGEST + _NUMBER):
            yield record[:_DIGEST], int.from_bytes(record[_DIGEST:], "big")
