"""Variants of training lines that make a model robust, such as upper case and typos.

OpusTrainer (Tito, https://github.com/hplt-project/OpusTrainer) has similar modifiers.
"""

import random
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .copying import Copying

# Words in lower case in English titles, as in Marian and Moses' detruecase.perl.
_SMALL = frozenset(
    """
    a after against and any as at be because between by during for from his in is its last not of
    off on than the their this to was were which will with
    """.split()
)
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_LONG_WORD = re.compile(r"(?<![^\s(\"'])[^\W\d_]{4,}(?=[.,;:!?)\"']*(?:\s|$))")  # no file.txt
_FULL_STOP = re.compile(r"(?<=[^\s.])\s*[.。।]\s*$")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
PLAIN, CAPS, TITLE, TYPOS, NO_STOP, JOINED = range(6)  # kinds of variants
MOST_JOINED = 3  # maximum number of earlier pairs to join with a pair
_MISTYPED = 0.15  # share of the longer words in a line with typos


@dataclass(frozen=True)
class Variants:
    """The variants of a training text, chosen by the number of each pair and the epoch.

    every: N of each kind, 0: never. In the first epoch, pairs 0, N, 2N and so on are upper case on
    both sides; the sources of pairs 1, N+1 and so on have English title case (as in Marian, where
    upper case also has precedence), and the sources of pairs 2, N+2 and so on have typos; both
    sides of pairs 3, N+3 and so on lose their full stop; pairs 4, N+4 and so on are joined with
    earlier pairs. Each later epoch chooses the preceding pairs, unless the choice is `fixed`, as in
    Marian. copy: patterns of spans that become placeholders if both sides have them.
    """

    every: tuple[int, ...] = (0,) * JOINED
    copy: tuple[str, ...] = ()
    fixed: bool = False

    @cached_property
    def _copying(self) -> Copying:
        return Copying(self.copy)

    @cached_property
    def drawn(self) -> set[int]:
        """The kinds that a pair has over all epochs; empty if epochs do not differ."""
        kinds = {kind for kind, n in enumerate(self.every, CAPS) if n and not self.fixed}
        return kinds and {PLAIN, *kinds}

    def kinds(self, numbers: np.ndarray, epoch: int) -> np.ndarray:
        """The kinds of the pairs with these numbers in an epoch; pairs and epochs count from 0."""
        kinds = np.full(len(numbers), PLAIN)
        for kind in range(JOINED, PLAIN, -1):
            if n := self.every[kind - CAPS]:
                kinds[(numbers + epoch * (not self.fixed)) % n == (kind - CAPS) % n] = kind
        return kinds

    def copied(self, source: str | None, target: str) -> tuple[str | None, str]:
        """The lines of a pair with placeholders; source: None if the pair has no source."""
        return self._copying.pair(source, target) if self.copy and source else (source, target)

    def of(self, kind: int, number: int, source: str | None, target: str) -> tuple[str | None, str]:
        """The lines of pair `number`, or a variant of a kind that is not JOINED."""
        if kind == CAPS:
            return source and upper_case(source), upper_case(target)
        if kind == NO_STOP:
            return source and without_full_stop(source), without_full_stop(target)
        if source and kind == TITLE:
            source = english_title_case(source)
        if source and kind == TYPOS:
            source = with_typos(source, random.Random(number))  # noqa: S311
        return source, target

    def joined(self, number: int) -> int:
        """The number of earlier pairs to join with pair `number`, if it is to be joined."""
        return 1 + number // self.every[JOINED - CAPS] % MOST_JOINED


def upper_case(line: str) -> str:
    """The line in upper case, of the same length: `ß` does not become `SS`."""
    return "".join(upper if len(upper := c.upper()) == 1 else c for c in line)


def english_title_case(line: str) -> str:
    """Title case for words at the start or after a space, quotation mark, hyphen, as in Marian."""

    def titled(match: re.Match[str]) -> str:
        word, before = match[0], line[match.start() - 1 : match.start()]
        if before not in ("", " ", '"', "'", "-") or word in _SMALL:
            return word
        return word[0].upper() + word[1:]

    return _WORD.sub(titled, line)


def with_typos(line: str, draw: random.Random) -> str:
    """The line with typos in some of its longer words, at least in one.

    A typo swaps two letters, or omits or doubles a letter or replaces it with its neighbour on the
    keyboard; the first letter of a word is unchanged.
    """
    matches = _LONG_WORD.finditer(line)
    words = [m.span() for m in matches if m[0][1:] == m[0][1:].lower()]  # no CamelCase
    chosen = [span for span in words if draw.random() < _MISTYPED]
    if words and not chosen:
        chosen = [draw.choice(words)]
    for start, end in reversed(chosen):
        i = draw.randrange(start + 1, end - 1)
        letter, following = line[i], line[i + 1]
        row = next((row for row in _KEYBOARD if letter in row), letter)
        near = row[(row.index(letter) + 1) % len(row)]
        typos = {following + letter, following, letter * 2 + following, near + following}
        typo = draw.choice(sorted(typos - {letter + following}))
        line = line[:i] + typo + line[i + 2 :]
    return line


def without_full_stop(line: str) -> str:
    """The line without its final full stop, unless it ends in several."""
    return _FULL_STOP.sub("", line)
