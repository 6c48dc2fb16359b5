"""Variants of training lines, which make a model robust: upper case, title case."""

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


@dataclass(frozen=True)
class Variants:
    """The variants of a training text, chosen by the number of each pair.

    all_caps_every: both sides of pairs 0, N, 2N and so on are upper case; title_case_every: the
    sources of pairs 1, N+1, 2N+1 and so on have English title case (Marian's --all-caps-every and
    --english-title-case-every, which prefers the first); 0: never. copy: patterns of spans
    that become placeholders where both sides have them.
    """

    all_caps_every: int = 0
    title_case_every: int = 0
    copy: tuple[str, ...] = ()

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
        return source, target


def _upper(line: str) -> str:
    """The line in upper case, as many characters: without `ß` as `SS`."""
    return "".join(upper if len(upper := c.upper()) == 1 else c for c in line)


def english_title_case(line: str) -> str:
    """Words in title case that follow a space, quotation mark, hyphen or nothing, as in Marian."""

    def titled(match: re.Match[str]) -> str:
        word, before = match[0], line[match.start() - 1 : match.start()]
        if before not in ("", " ", '"', "'", "-") or word in _SMALL:
            return word
        return word[0].upper() + word[1:]

    return _WORD.sub(titled, line)
