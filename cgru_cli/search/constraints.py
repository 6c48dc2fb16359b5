"""Phrases that a translation must contain, or must not contain.

A translation contains a phrase if the phrase's words occur in it consecutively; phrases may
overlap. A requirement may list several phrases, such as inflections, any of which satisfies it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Phrase = tuple[int, ...]  # ids of words


class PhraseSet(dict[Phrase, None]):
    """Phrases without repetition, in order; finds those inside another phrase."""

    def __init__(self, phrases: Iterable[Phrase]):
        super().__init__(dict.fromkeys(phrases))
        self._sizes = sorted(set(map(len, self)))  # few sizes, so that long phrases are quick

    def within(self, phrase: Phrase) -> set[Phrase]:
        """The phrases of the set that a phrase contains, itself included."""
        places = ((i, n) for n in self._sizes for i in range(len(phrase) - n + 1))
        return {part for i, n in places if (part := phrase[i : i + n]) in self}


class Required:
    """The phrases that one translation must contain, as automata that read its words.

    Each requirement is a list of alternatives; the translation must contain one of them. A state
    has a number for each alternative: how many of the alternative's first words end the translation
    so far, or its length once the requirement is satisfied.
    """

    def __init__(self, requirements: Sequence[Sequence[Phrase]], once: Collection[int] = ()):
        """once: words that the translation must contain exactly once, each a requirement."""
        self.once = frozenset(once)
        # an alternative that contains another one is redundant
        every = map(PhraseSet, requirements)
        shortest = [PhraseSet(p for p in some if some.within(p) == {p}) for some in every]
        distinct = {frozenset(some): some for some in shortest}.values()
        # a requirement that another requirement implies needs no automata
        kept = [
            tuple(some)
            for some in distinct
            if not any(some is not other and all(map(some.within, other)) for other in distinct)
        ]
        self.phrases = tuple(phrase for some in kept for phrase in some)
        ends = list(itertools.accumulate(map(len, kept), initial=0))
        self._groups = [slice(*ends) for ends in itertools.pairwise(ends)]
        self._lengths = tuple(map(len, self.phrases))
        self._borders = tuple(map(_borders, self.phrases))
        self.start = (0,) * len(self.phrases)
        self.words = frozenset(word for phrase in self.phrases for word in phrase)
        self.most = sum(max(self._lengths[group]) for group in self._groups)  # `met`, at most

    def spent(self, state: tuple[int, ...]) -> list[int]:
        """The words of `once` that no missing phrase needs as the next word."""
        return [*self.once.difference(self.next_words(state))] if self.once else []

    @property
    def fewest_words(self) -> int:
        """The length, including EOS, that suffices for a translation with all phrases."""
        return self.missing(self.start) + 1

    def after(self, state: tuple[int, ...], word: int) -> tuple[int, ...]:
        """The state after another word."""
        pairs = zip(self.phrases, state, strict=True)
        if word not in self.words:
            return tuple(place if place == len(phrase) else 0 for phrase, place in pairs)
        after = tuple(
            _place_after(phrase, borders, place, word)
            for (phrase, place), borders in zip(pairs, self._borders, strict=True)
        )
        for group in self._groups:
            sizes = self._lengths[group]
            if any(place == size for place, size in zip(after[group], sizes, strict=True)):
                after = (*after[: group.start], *sizes, *after[group.stop :])
        return after

    def met(self, state: tuple[int, ...]) -> int:
        """The number of words of the required phrases that a translation contains, up to `most`."""
        return sum(max(state[group]) for group in self._groups)

    def next_words(self, state: tuple[int, ...]) -> list[int]:
        """The next word of each alternative of the missing phrases."""
        return [p[place] for p, place in zip(self.phrases, state, strict=True) if place < len(p)]

    def missing(self, state: tuple[int, ...]) -> int:
        """The number of words, without EOS, that suffice to complete a translation.

        The number is the total length of the shortest missing phrases, minus the words of a phrase
        that has begun; overlapping phrases may need fewer.
        """
        total = begun = 0
        for group in self._groups:
            sizes = self._lengths[group]
            left = min(size - place for size, place in zip(sizes, state[group], strict=True))
            if left:
                total += min(sizes)
                begun = max(begun, min(sizes) - left)
        return total - begun


def _borders(phrase: Phrase) -> list[int]:
    """The length of the longest border of each prefix of a phrase, indexed by the prefix's length.

    A border is a shorter prefix that is also a suffix. This is the table of Knuth, Morris and Pratt
    1977 ("Fast Pattern Matching in Strings").
    """
    borders = [0, 0]
    for word in phrase[1:]:
        place = borders[-1]
        while place and phrase[place] != word:
            place = borders[place]
        borders.append(place + 1 if phrase[place] == word else 0)
    return borders


def _place_after(phrase: Phrase, borders: Sequence[int], place: int, word: int) -> int:
    """The number of the phrase's first words that end the translation after another word."""
    if place == len(phrase):
        return place
    while place and phrase[place] != word:
        place = borders[place]
    return place + 1 if phrase[place] == word else 0


class Avoided:
    """The phrases that a translation must not contain, indexed by all their words but the last."""

    def __init__(self, phrases: Iterable[Phrase]):
        self.phrases = PhraseSet(phrases)
        self.longest = max(map(len, self.phrases), default=0)
        self._last: dict[Phrase, list[int]] = {}
        for phrase in self.phrases:
            self._last.setdefault(phrase[:-1], []).append(phrase[-1])

    def words(self, before: Phrase) -> list[int]:
        """Words that must not follow `before`, whose last `longest` - 1 words matter."""
        words: list[int] = []
        for length in range(min(len(before), max(0, self.longest - 1)) + 1):
            words += self._last.get(before[len(before) - length :], ())
        return words


@dataclass(frozen=True)
class Constraints:
    """The phrases that one translation must and must not contain.

    forced: whether the search leads hypotheses to the required phrases, at some cost to the rest of
    the translation; otherwise a translation may lack them.
    """

    required: Required
    avoided: Avoided
    forced: bool = True

    @classmethod
    def of(
        cls,
        required: Sequence[Sequence[Phrase]],
        avoided: Avoided,
        once: Collection[int] = (),
        *,
        forced: bool = True,
    ) -> Constraints | None:
        """The constraints, None without phrases; once: words to contain exactly once."""
        some = required or avoided.phrases
        return cls(Required(required, once), avoided, forced) if some else None

    def satisfied_by(self, words: Iterable[int]) -> bool:
        """Whether a translation has the required phrases."""
        state = functools.reduce(self.required.after, words, self.required.start)
        return not self.required.missing(state)


class NextWords(NamedTuple):
    """The words that prefixes and phrases require or forbid as the next ones."""

    required: np.ndarray  # (R,X) int32: words to score besides the best; -1 for none
    banned: list[list[int]]  # words of each row that must not be next
    forced: np.ndarray  # (R,) int32: the next word of the prefix, -1 if there is none
