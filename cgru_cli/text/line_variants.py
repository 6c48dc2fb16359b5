"""Variants of training lines, which make a model robust: upper case, typos and others.

OpusTrainer (Tito, https://github.com/hplt-project/OpusTrainer) has such modifiers too.
"""

import random
import re
from dataclasses import dataclass
from functools import cached_property

from .copying import Copying

# Words that English titles have in lower case, as in Marian and Moses' detruecase.perl.
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
MOST_JOINED = 3  # pairs before a pair that it is joined with
_MISTYPED = 0.15  # of the longer words of a line with typos


@dataclass(frozen=True)
class Variants:
    """The variants of a training text, chosen by the number of each pair.

    all_caps_every: both sides of pairs 0, N, 2N and so on are upper case; title_case_every: the
    sources of pairs 1, N+1, 2N+1 and so on have English title case (Marian's --all-caps-every and
    --english-title-case-every, which prefers the first); typos_every: the sources of pairs 2, N+2
    and so on have typos; no_full_stop_every: both sides of pairs 3, N+3 and so on lose their full
    stop; join_every: see `joined`; 0: never. copy: patterns of spans that become placeholders where
    both sides have them.
    """

    all_caps_every: int = 0
    title_case_every: int = 0
    copy: tuple[str, ...] = ()
    typos_every: int = 0
    no_full_stop_every: int = 0
    join_every: int = 0

    @cached_property
    def _copying(self) -> Copying:
        return Copying(self.copy)

    def of(self, number: int, source: str | None, target: str) -> tuple[str | None, str]:
        """The lines of pair `number`, from 0, or variants of them; source: None if it has none."""
        if self.copy and source is not None:
            source, target = self._copying.pair(source, target)
        if self.all_caps_every and number % self.all_caps_every == 0:
            return source and _upper(source), _upper(target)
        if source and self.title_case_every and number % self.title_case_every == 1:
            return english_title_case(source), target
        if source and _chosen(number, 2, self.typos_every):
            return with_typos(source, random.Random(number)), target  # noqa: S311
        if _chosen(number, 3, self.no_full_stop_every):
            return source and without_full_stop(source), without_full_stop(target)
        return source, target

    def joined(self, number: int) -> int:
        """Count the earlier pairs to join with pair `number`; 0 except for 4, N+4 and so on."""
        chosen = _chosen(number, 4, self.join_every)
        return 1 + number // self.join_every % MOST_JOINED if chosen else 0


def _chosen(number: int, first: int, every: int) -> bool:
    return bool(every) and number % every == first % every


def _upper(line: str) -> str:
    """The line in upper case, with its length kept: `ß` does not become `SS`."""
    return "".join(upper if len(upper := c.upper()) == 1 else c for c in line)


def english_title_case(line: str) -> str:
    """Words in title case that follow a space, quotation mark, hyphen or nothing, as in Marian."""

    def titled(match: re.Match[str]) -> str:
        word, before = match[0], line[match.start() - 1 : match.start()]
        if before not in ("", " ", '"', "'", "-") or word in _SMALL:
            return word
        return word[0].upper() + word[1:]

    return _WORD.sub(titled, line)


def with_typos(line: str, draw: random.Random) -> str:
    """The line with a typo in some longer words, at least in one of them.

    Two letters change places, or a letter is left out, doubled, or replaced by its neighbour on the
    keyboard; the first letter of a word stays.
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
    """The line without a single full stop at its end."""
    return _FULL_STOP.sub("", line)
