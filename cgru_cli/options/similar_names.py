"""Options with names like a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LIKENESS = 0.7  # of two words with one wrong letter among four


def similar(typed: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` of these names that resemble the typed one, the most similar first.

    Names are compared word by word, so that `--beem` resembles `--beam-size` and not `--bpe`.
    """
    words = _words(typed)
    likeness = {name: _likeness(words, _words(name)) for name in names}
    near = [name for name, like in likeness.items() if like >= LIKENESS]
    near.sort(key=lambda name: (-likeness[name], len(name)))
    return near[:count]


def _words(name: str) -> list[str]:
    return name.lower().strip("-").replace("_", "-").split("-")


def _likeness(words: list[str], others: list[str]) -> float:
    """How similar the words are, from 0 to 1; words that only the other name has count little."""
    by_word = sum(max(_ratio(word, other) for other in others) for word in words) / len(words)
    whole = _ratio("-".join(words), "-".join(others))
    return max(by_word - 0.02 * max(0, len(others) - len(words)), whole)


def _ratio(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()
