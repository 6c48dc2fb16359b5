"""The first words of a translation, phrases that it must have, and phrases that it must not have.

The beam is divided among hypotheses by how much of the required phrases they have: dynamic beam
allocation, Post and Vilar 2018 ("Fast Lexically Constrained Decoding with Dynamic Beam
Allocation"), so that a step costs the same for any number of phrases. A translation has a phrase
if its words follow each other anywhere in it; phrases may overlap. A requirement may have several
phrases, such as inflections, any of which satisfies it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID

Phrase = tuple[int, ...]  # ids of words


class Required:
    """The phrases that one translation must have, as automata that read its words.

    Each requirement is a list of alternatives, one of which the translation must have. A state has
    a number for each alternative: how many of its first words the translation ends with, or its
    length once the translation satisfies the requirement.
    """

    def __init__(self, requirements: Sequence[Sequence[Phrase]], once: Collection[int] = ()):
        """once: words that the translation has at most once, each a requirement by itself."""
        self.once = frozenset(once)
        # a phrase that contains another alternative of its requirement adds nothing
        shortest = [
            [p for p in some if not any(p != other and _within(other, p) for other in some)]
            for some in requirements
        ]
        distinct = {frozenset(some): dict.fromkeys(some) for some in shortest}.values()
        # nor does a requirement that another one satisfies need automata
        kept = [
            tuple(some)
            for some in distinct
            if not any(some is not other and _satisfies(other, some) for other in distinct)
        ]
        self.phrases = tuple(phrase for some in kept for phrase in some)
        ends = list(itertools.accumulate(map(len, kept), initial=0))
        self._groups = [slice(*ends) for ends in itertools.pairwise(ends)]
        self._lengths = tuple(map(len, self.phrases))
        self._borders = tuple(map(_borders, self.phrases))
        self.start = (0,) * len(self.phrases)
        self.words = frozenset(word for phrase in self.phrases for word in phrase)
        self.most = sum(max(self._lengths[group]) for group in self._groups)  # words met at the end

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
        """The number of words of the required phrases that a translation has, up to `most`."""
        return sum(max(state[group]) for group in self._groups)

    def next_words(self, state: tuple[int, ...]) -> list[int]:
        """The next word of each alternative of the missing phrases."""
        return [p[place] for p, place in zip(self.phrases, state, strict=True) if place < len(p)]

    def missing(self, state: tuple[int, ...]) -> int:
        """The number of words, without EOS, that suffice to complete a translation.

        It is that of the shortest missing phrases one after the other, the first of which may have
        begun; phrases that overlap may need fewer.
        """
        total = begun = 0
        for group in self._groups:
            sizes = self._lengths[group]
            left = min(size - place for size, place in zip(sizes, state[group], strict=True))
            if left:
                total += min(sizes)
                begun = max(begun, min(sizes) - left)
        return total - begun


def _satisfies(others: Iterable[Phrase], some: Collection[Phrase]) -> bool:
    """Whether a translation with any of the others has one of some phrases as well."""
    return all(any(_within(phrase, other) for phrase in some) for other in others)


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
        cls,
        required: Sequence[Sequence[Phrase]],
        avoided: Sequence[Phrase],
        once: Collection[int] = (),
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
    forced: np.ndarray  # (R,) int32: the next word of the prefix, -1 if there is none


class Tracker:
    """The constraints of all sentences of a search, and the progress of each live hypothesis.

    Without constraints and prefixes it changes nothing. A soft prefix asks for its words as long as
    the hypothesis has followed it.
    """

    def __init__(self, *, soft: bool = False) -> None:
        self._soft = soft
        self._forced: np.ndarray = np.zeros(0, np.int32)  # the prefixes' words of the last step
        self.follows: np.ndarray = np.zeros(0, bool)  # (R,) rows that have not left their prefix
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
        self.follows = np.append(self.follows, np.ones(count, bool))
        self.progress += [Progress(c.required.start, ()) if c else None for c in constraints]

    @property
    def idle(self) -> bool:
        """Whether no live hypothesis has to satisfy constraints."""
        return not any(self.progress)

    def asked(self, sentences: np.ndarray, steps: np.ndarray) -> Asked | None:
        """The words that rows (R,) ask for next; None if no row asks for one.

        steps: (R,) words of each row so far. A forced prefix overrides the other constraints.
        """
        forced = self._prefix_words(sentences, steps)
        self._forced = forced.copy()
        if self.idle and (forced < 0).all():
            return None
        wanted: list[list[int]] = [[int(word)] if word >= 0 else [] for word in forced]
        banned: list[list[int]] = [[] for _ in wanted]
        for row, progress in enumerate(self.progress):
            constraints = self.constraints[sentences[row]]
            if constraints and progress and (forced[row] < 0 or self._soft):
                missing = constraints.required.next_words(progress.state)
                wanted[row] += missing
                banned[row] = constraints.avoided.words(progress.last)
                banned[row] += constraints.required.spent(progress.state)
                if missing:
                    banned[row].append(EOS_ID)
                if forced[row] in banned[row]:
                    forced[row] = -1
        words = np.full((len(wanted), max(map(len, wanted))), -1, np.int32)
        for row, some in enumerate(wanted):
            words[row, : len(some)] = some
        return Asked(words, banned, forced)

    def _prefix_words(self, sentences: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """The next word of each row's prefix, -1 after its end or once left: (R,) int32."""
        forced = np.full(len(sentences), -1, np.int32)
        if any(self.prefixes):
            for row, (sentence, step) in enumerate(zip(sentences, steps, strict=True)):
                if step < len(self.prefixes[sentence]) and self.follows[row]:
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
                    bank = banks.setdefault(required.met(state), [])
                    bank.append((-float(totals[row, place]), int(row), int(place)))
        sizes = {number: len(bank) for number, bank in banks.items()}
        shares = allocation(capacity, required.most, sizes)
        best = [one for number, bank in banks.items() for one in sorted(bank)[: shares[number]]]
        return [(row, place) for _, row, place in sorted(best)]

    def advance(self, sentences: np.ndarray, parents: np.ndarray, words: np.ndarray) -> None:
        """Take a step: the new rows (R,) of these sentences add words to these parents."""
        wanted = self._forced[parents]
        self.follows = self.follows[parents] & ((wanted < 0) | (wanted == words))
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
        self.follows = self.follows[kept]
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
