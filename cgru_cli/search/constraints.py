"""The first words of a translation, phrases that it must have, and phrases that it must not have.

The beam is divided among hypotheses by how much of the required phrases they have: dynamic beam
allocation, Post and Vilar 2018 ("Fast Lexically Constrained Decoding with Dynamic Beam
Allocation"), so that a step costs the same for any number of phrases. A translation has a phrase
if its words follow each other anywhere in it; phrases may overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID

Phrase = tuple[int, ...]  # ids of words


class Required:
    """The phrases that one translation must have, as automata that read its words.

    A state has a number for each phrase: how many of its first words the translation ends with, or
    its length once the translation has the phrase.
    """

    def __init__(self, phrases: Sequence[Phrase], once: Collection[int] = ()):
        """once: words that the translation has at most once, each a phrase by itself."""
        distinct = dict.fromkeys(phrases)
        self.once = frozenset(once)
        self.phrases = tuple(  # a phrase within another needs no automaton
            phrase
            for phrase in distinct
            if not any(phrase != other and _within(phrase, other) for other in distinct)
        )
        self.lengths = tuple(map(len, self.phrases))
        self._borders = tuple(map(_borders, self.phrases))
        self.start = (0,) * len(self.phrases)
        self.words = frozenset(word for phrase in self.phrases for word in phrase)

    def spent(self, state: tuple[int, ...]) -> list[int]:
        """The words of `once` that the translation has."""
        pairs = zip(self.phrases, state, strict=True)
        return [p[0] for p, place in pairs if place == len(p) == 1 and p[0] in self.once]

    @property
    def fewest_words(self) -> int:
        """The number of words, including EOS, that suffice for a translation with all phrases."""
        return self.missing(self.start) + 1

    def after(self, state: tuple[int, ...], word: int) -> tuple[int, ...]:
        """The state after one more word."""
        pairs = zip(self.phrases, state, strict=True)
        if word not in self.words:
            return tuple(place if place == len(phrase) else 0 for phrase, place in pairs)
        return tuple(
            _place_after(phrase, borders, place, word)
            for (phrase, place), borders in zip(pairs, self._borders, strict=True)
        )

    def next_words(self, state: tuple[int, ...]) -> list[int]:
        """The next word of each missing phrase."""
        return [p[place] for p, place in zip(self.phrases, state, strict=True) if place < len(p)]

    def missing(self, state: tuple[int, ...]) -> int:
        """The number of words, without EOS, that suffice to complete a translation.

        It is that of the missing phrases one after the other; phrases that overlap may need fewer.
        """
        pairs = zip(state, self.lengths, strict=True)
        unmet = [(length, place) for place, length in pairs if place < length]
        return sum(n for n, _ in unmet) - max((place for _, place in unmet), default=0)


def _within(phrase: Phrase, other: Phrase) -> bool:
    places = range(len(other) - len(phrase) + 1)
    return any(other[i : i + len(phrase)] == phrase for i in places)


def _borders(phrase: Phrase) -> list[int]:
    """The longest border of each beginning of a phrase, by the beginning's number of words.

    A border is a shorter beginning with which it also ends: the table of Knuth, Morris and Pratt
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
    """How many of the phrase's first words a translation ends with after one more word."""
    if place == len(phrase):
        return place
    while place and phrase[place] != word:
        place = borders[place]
    return place + 1 if phrase[place] == word else 0


class Avoided:
    """The phrases that a translation must not have, found by the words before their last."""

    def __init__(self, phrases: Sequence[Phrase]):
        self.longest = max(map(len, phrases), default=0)
        self._last: dict[Phrase, list[int]] = {}
        for phrase in dict.fromkeys(phrases):
            self._last.setdefault(phrase[:-1], []).append(phrase[-1])

    def words(self, before: Phrase) -> list[int]:
        """Words that must not follow `before`, of which the last `longest` - 1 words count."""
        words: list[int] = []
        for length in range(min(len(before), max(0, self.longest - 1)) + 1):
            words += self._last.get(before[len(before) - length :], ())
        return words


@dataclass(frozen=True)
class Constraints:
    """The phrases that one translation must and must not have."""

    required: Required
    avoided: Avoided

    @classmethod
    def of(
        cls, required: Sequence[Phrase], avoided: Sequence[Phrase], once: Collection[int] = ()
    ) -> Constraints | None:
        """None without any phrase. once: see `Required`."""
        return cls(Required(required, once), Avoided(avoided)) if required or avoided else None


class Progress(NamedTuple):
    """The progress of one hypothesis."""

    state: tuple[int, ...]  # of `Required`
    last: Phrase  # its last words, as many as `Avoided` needs


class Asked(NamedTuple):
    """The words that prefixes and phrases ask for or forbid as the next ones."""

    words: np.ndarray  # (R,X) int32: words to score besides the best; -1 if a row asks for fewer
    banned: list[list[int]]  # words of each row that must not be next
    forced: np.ndarray  # (R,) int32: the only next word allowed, -1 if there are others


class Tracker:
    """The constraints of all sentences of a search, and the progress of each live hypothesis.

    Without constraints and prefixes it changes nothing.
    """

    def __init__(self) -> None:
        self.prefixes: list[Sequence[int]] = []  # of each sentence
        self.constraints: list[Constraints | None] = []  # of each sentence
        self.progress: list[Progress | None] = []  # of each row

    def begin(
        self,
        count: int,
        prefixes: Sequence[Sequence[int]],
        constraints: Sequence[Constraints | None] = (),
    ) -> None:
        """Add the sentences of a `SearchBatch`, `count` of them, each with one row."""
        constraints = constraints or [None] * count
        self.prefixes += prefixes or [()] * count
        self.constraints += constraints
        self.progress += [Progress(c.required.start, ()) if c else None for c in constraints]

    @property
    def idle(self) -> bool:
        """Whether no live hypothesis has to satisfy constraints."""
        return not any(self.progress)

    def asked(self, sentences: np.ndarray, steps: np.ndarray) -> Asked | None:
        """The words that rows (R,) ask for next; None if no row asks for one.

        steps: (R,) words of each row so far. A prefix overrides the other constraints.
        """
        forced = self._forced(sentences, steps)
        if self.idle and (forced < 0).all():
            return None
        wanted: list[list[int]] = [[int(word)] if word >= 0 else [] for word in forced]
        banned: list[list[int]] = [[] for _ in wanted]
        for row, progress in enumerate(self.progress):
            constraints = self.constraints[sentences[row]]
            if constraints and progress and forced[row] < 0:
                wanted[row] = constraints.required.next_words(progress.state)
                banned[row] = constraints.avoided.words(progress.last)
                banned[row] += constraints.required.spent(progress.state)
                if wanted[row]:
                    banned[row].append(EOS_ID)
        words = np.full((len(wanted), max(map(len, wanted))), -1, np.int32)
        for row, some in enumerate(wanted):
            words[row, : len(some)] = some
        return Asked(words, banned, forced)

    def _forced(self, sentences: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """The next word of each row's prefix, -1 after its end: (R,) int32."""
        forced = np.full(len(sentences), -1, np.int32)
        if any(self.prefixes):
            for row, (sentence, step) in enumerate(zip(sentences, steps, strict=True)):
                if step < len(self.prefixes[sentence]):
                    forced[row] = self.prefixes[sentence][step]
        return forced

    def choose(
        self,
        sentences: np.ndarray,
        totals: np.ndarray,
        words: np.ndarray,
        capacity: np.ndarray,
        left: np.ndarray,
        chosen: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The choice of `best_extensions`, repeated for sentences with required phrases.

        sentences: (R,) of the rows; totals, words: (R,N) of their extensions, -inf where banned;
        capacity, left: (B,) hypotheses and words, including EOS, that a sentence may still have
        after this step; chosen: rows and places.
        """
        if self.idle:
            return chosen
        again = {
            sentence: constraints.required
            for sentence in np.unique(sentences)
            if (constraints := self.constraints[sentence]) and constraints.required.phrases
        }
        kept = ~np.isin(sentences[chosen[0]], list(again))
        pairs = list(zip(*(x[kept].tolist() for x in chosen), strict=True))
        for sentence, required in again.items():
            mine = np.flatnonzero(sentences == sentence)
            room, space = int(capacity[sentence]), int(left[sentence])
            pairs += self._allocate(required, mine, totals, words, room, space)
        rows, places = np.array(pairs, int).reshape(-1, 2).T
        order = np.argsort(sentences[rows], kind="stable")
        return rows[order], places[order]

    def _allocate(
        self,
        required: Required,
        mine: np.ndarray,
        totals: np.ndarray,
        words: np.ndarray,
        capacity: int,
        left: int,
    ) -> list[tuple[int, int]]:
        """Rows and places of the extensions of one sentence that stay: the best of each bank.

        A bank has the hypotheses with the same number of words of the required phrases. Those that
        can no longer be completed within the limit are in no bank.
        """
        banks: dict[int, list[tuple[float, int, int]]] = {}
        for row in mine:
            progress = self.progress[row]
            before = progress.state if progress else required.start
            for place in np.flatnonzero(np.isfinite(totals[row])):
                state = required.after(before, int(words[row, place]))
                missing = required.missing(state)
                if not missing or missing + 1 <= left:  # with EOS
                    bank = banks.setdefault(sum(state), [])
                    bank.append((-float(totals[row, place]), int(row), int(place)))
        sizes = {number: len(bank) for number, bank in banks.items()}
        shares = allocation(capacity, sum(required.lengths), sizes)
        best = [one for number, bank in banks.items() for one in sorted(bank)[: shares[number]]]
        return [(row, place) for _, row, place in sorted(best)]

    def advance(self, sentences: np.ndarray, parents: np.ndarray, words: np.ndarray) -> None:
        """Take a step: the new rows (R,) of these sentences add words to these parents."""
        if self.idle:
            self.progress = [None] * len(words)
            return
        after: list[Progress | None] = []
        for sentence, parent, word in zip(sentences, parents, words, strict=True):
            constraints, progress = self.constraints[sentence], self.progress[parent]
            if constraints and progress:
                looked_at = max(0, constraints.avoided.longest - 1)
                last = (*progress.last, int(word))
                state = constraints.required.after(progress.state, int(word))
                progress = Progress(state, last[max(0, len(last) - looked_at) :])
            after.append(progress)
        self.progress = after

    def take(self, kept: np.ndarray) -> None:
        """Keep some rows: (R,) bool."""
        self.progress = [p for p, keep in zip(self.progress, kept, strict=True) if keep]


def allocation(capacity: int, most: int, sizes: dict[int, int]) -> dict[int, int]:
    """How many hypotheses of each bank stay; sizes: those that it has, by its number, 0 to `most`.

    Each bank has the same share, and the last one also the remainder of the division. Places that a
    bank cannot fill go to the highest bank that can.
    """
    shares = dict.fromkeys(sizes, 0)
    for number, size in sizes.items():
        share = capacity // (most + 1) + (capacity % (most + 1) if number == most else 0)
        shares[number] = min(share, size)
    spare = capacity - sum(shares.values())
    for number in sorted(sizes, reverse=True):
        more = min(spare, sizes[number] - shares[number])
        shares[number] += more
        spare -= more
    return shares
