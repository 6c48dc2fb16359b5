"""Which sentence pairs are left out of the training text, and how many for which reason.

The checks run in the order of `FILTERS`; a pair is counted under the first that it fails.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Name of each filter and what it removes.
FILTERS = {
    "invalid": "invalid UTF-8",
    "control": "control characters",
    "empty": "an empty side",
    "identical": "source and target the same",
    "characters": "a side of too many characters",
    "length": "a side of too many words",
    "ratio": "sides of too different length",
    "duplicates": "seen before",
}
_DIGEST = 16  # bytes; two different pairs of 10**9 share one with probability 10**-21
_NUMBER = 8
_PARTITIONS = 256
_BUFFER = 1 << 13  # bytes of a partition that wait to be written
# C0 and C1 but for the tab, which is a space, and the newline, which is no part of a line.
_CONTROL = frozenset(chr(i) for i in (*range(32), *range(127, 160))) - {"\t", "\n"}


@dataclass(frozen=True)
class Cleaning:
    """What a pair must be to stay; 0 and False switch a filter off.

    Lengths are in words of the preprocessed text before sub-words, characters in the normalised
    text before anything else; ratio is of the longer to the shorter side, in words.
    """

    invalid: bool = True
    control: bool = True
    empty: bool = True
    identical: bool = True
    max_characters: int = 0
    max_length: int = 0
    max_ratio: float = 0.0

    def of_raw(self, source: str | None, target: str | None) -> str | None:
        """The filter that removes a pair as it was read (None: invalid UTF-8); None: it stays."""
        if source is None or target is None:
            return "invalid" if self.invalid else None
        if self.control and any(
            not _CONTROL.isdisjoint(s.removesuffix("\r")) for s in (source, target)
        ):
            return "control"
        return None

    def of_text(self, source: str, target: str) -> str | None:
        """The filter that removes a pair of normalised text; None: it stays."""
        if self.empty and not (source and target):
            return "empty"
        if self.identical and source == target:
            return "identical"
        if self.max_characters and max(len(source), len(target)) > self.max_characters:
            return "characters"
        return None

    def of_words(self, source: int, target: int) -> str | None:
        """The filter that removes a pair of these numbers of words; None: it stays."""
        if self.empty and not (source and target):
            return "empty"
        if self.max_length and max(source, target) > self.max_length:
            return "length"
        shorter = max(1, min(source, target))
        if self.max_ratio and max(source, target) > self.max_ratio * shorter:
            return "ratio"
        return None


def digest(source: str, target: str) -> bytes:
    """16 bytes that stand for a pair: BLAKE2b of both lines."""
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=_DIGEST).digest()


class Duplicates:
    """Finds pairs seen before, in memory that hardly depends on how many there are.

    Digests go to 256 files in a folder by their first byte; then one file at a time is looked
    through. What grows with the text is one bit a pair, and a 256th of the digests (about 0.4 MB
    for a million pairs).
    """

    def __init__(self, folder: Path):
        """folder: an empty one, made here."""
        self._folder = folder
        self._count = 0
        folder.mkdir()
        self._waiting = [bytearray() for _ in range(_PARTITIONS)]

    def add(self, digests: Iterable[bytes]) -> None:
        """Take the digests of the next pairs."""
        for value in digests:
            waiting = self._waiting[value[0]]
            waiting += value + self._count.to_bytes(_NUMBER, "big")
            self._count += 1
            if len(waiting) >= _BUFFER:
                self._write(value[0])

    def _write(self, partition: int) -> None:
        with open(self._path(partition), "ab") as file:
            file.write(self._waiting[partition])
        self._waiting[partition].clear()

    def _path(self, partition: int) -> Path:
        return self._folder / f"{partition:02x}"

    def repeated(self) -> bytearray:
        """One bit a pair, lowest first: whether an equal pair came before."""
        bits = bytearray((self._count + 7) // 8)
        for i in range(_PARTITIONS):
            self._write(i)
            seen: set[bytes] = set()
            for value, number in _records(self._path(i)):
                if value in seen:
                    bits[number >> 3] |= 1 << (number & 7)
                seen.add(value)
        return bits


def _records(path: Path) -> Iterator[tuple[bytes, int]]:
    with open(path, "rb") as file:
        while record := file.read(_DIGEST + _NUMBER):
            yield record[:_DIGEST], int.from_bytes(record[_DIGEST:], "big")


def is_set(bits: bytearray, number: int) -> bool:
    """Bit `number` of `Duplicates.repeated`."""
    return bool(bits[number >> 3] >> (number & 7) & 1)


def summary(removed: Counter[str]) -> str:
    """What was removed and why, in one line."""
    parts = [f"{removed[name]:,} {text}" for name, text in FILTERS.items() if removed[name]]
    return ", ".join(parts) or "nothing removed"
