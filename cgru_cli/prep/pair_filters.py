"""Filters that remove sentence pairs from the training text.

The checks run in the order of `FILTERS`; a pair counts for the first check that it fails. Each
function returns the name of that filter, or None.
"""

from __future__ import annotations

from collections import Counter

from ..options.prep import PrepOptions

# The name of each filter, and the pairs that it removes.
FILTERS = {
    "invalid": "with invalid UTF-8",
    "control": "with control characters",
    "empty": "with an empty side",
    "identical": "with identical sides",
    "characters": "with too many characters",
    "length": "with too many words",
    "ratio": "with lengths that differ too much",
    "duplicates": "seen before",
}
# C0 and C1 without the tab, which is a space, and the newline, which ends a line.
_CONTROL = frozenset(chr(i) for i in (*range(32), *range(127, 160))) - {"\t", "\n"}


def reject_raw(options: PrepOptions, source: str | None, target: str | None) -> str | None:
    """Check a pair as read; None stands for a line of invalid UTF-8."""
    if source is None or target is None:
        return None if options.keep_invalid else "invalid"
    sides = (source.removesuffix("\r"), target.removesuffix("\r"))
    if not options.keep_control and any(not _CONTROL.isdisjoint(side) for side in sides):
        return "control"
    return None


def reject_text(options: PrepOptions, source: str, target: str) -> str | None:
    """Check a pair of normalised text."""
    if not options.keep_empty and not (source and target):
        return "empty"
    if not options.keep_identical and source == target:
        return "identical"
    if 0 < options.max_characters < max(len(source), len(target)):
        return "characters"
    return None


def reject_lengths(options: PrepOptions, source: int, target: int) -> str | None:
    """Check the numbers of words in a pair, before splitting words into sub-words."""
    if not options.keep_empty and not (source and target):
        return "empty"
    if 0 < options.max_length < max(source, target):
        return "length"
    shorter, longer = sorted((source, target))
    if shorter and options.max_ratio and longer > options.max_ratio * shorter:
        return "ratio"
    return None


def summary(removed: Counter[str]) -> str:
    """The numbers of removed pairs by filter, in one line."""
    return ", ".join(f"{removed[name]:,} {text}" for name, text in FILTERS.items() if removed[name])
