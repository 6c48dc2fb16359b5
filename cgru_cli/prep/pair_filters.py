"""Filters of sentence pairs: which are left out of the training text, and for which reason.

The checks run in the order of `FILTERS`; a pair is counted under the first that it fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

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
# C0 and C1 but for the tab, which is a space, and the newline, which is no part of a line.
_CONTROL = frozenset(chr(i) for i in (*range(32), *range(127, 160))) - {"\t", "\n"}


@dataclass(frozen=True)
class Cleaning:
    """The filters that are on, and their limits; 0 and False switch a filter off.

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

    def reject_raw(self, source: str | None, target: str | None) -> str | None:
        """The filter that rejects a pair as it was read (None: invalid UTF-8), or None."""
        if source is None or target is None:
            return "invalid" if self.invalid else None
        if self.control and any(
            not _CONTROL.isdisjoint(s.removesuffix("\r")) for s in (source, target)
        ):
            return "control"
        return None

    def reject_text(self, source: str, target: str) -> str | None:
        """The filter that rejects a pair of normalised text, or None."""
        if self.empty and not (source and target):
            return "empty"
        if self.identical and source == target:
            return "identical"
        if self.max_characters and max(len(source), len(target)) > self.max_characters:
            return "characters"
        return None

    def reject_lengths(self, source: int, target: int) -> str | None:
        """The filter that rejects a pair of these numbers of words, or None."""
        if self.empty and not (source and target):
            return "empty"
        if self.max_length and max(source, target) > self.max_length:
            return "length"
        shorter = max(1, min(source, target))
        if self.max_ratio and max(source, target) > self.max_ratio * shorter:
            return "ratio"
        return None


def is_set(bits: bytearray, number: int) -> bool:
    """Bit `number` of `Duplicates.repeated`."""
    return bool(bits[number >> 3] >> (number & 7) & 1)


def summary(removed: Counter[str]) -> str:
    """The number of removed pairs by reason, in one line."""
    parts = [f"{removed[name]:,} {text}" for name, text in FILTERS.items() if removed[name]]
    return ", ".join(parts) or "nothing removed"
