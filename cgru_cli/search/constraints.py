"""Phrases that a translation must have, and phrases that it must not have.

The beam is shared out among hypotheses by how much of the required phrases they have: dynamic beam
allocation, Post and Vilar 2018 ("Fast Lexically Constrained Decoding with Dynamic Beam
Allocation"), so that a step costs the same however many phrases there are. A phrase is there
wherever its words follow each other; phrases may overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID
from .ensemble import Expansion

Phrase = tuple[int, ...]  # ids of words


class Required:
    """The phrases that one translation must have, seen as automata that read its words.

    A state is a tuple: of each phrase so many first words as the translation ends with, and all of
    them once it is there (Knuth, Morris and Pratt 1977).
    """

    def __init__(self, phrases: Sequence[Phrase]):
        distinct = dict.fromkeys(phrases)
        self.phrases = tuple(  # what is within another is there with it
            phrase
            for phrase in distinct
            if not any(phrase != other and _within(phrase, other) for other in distinct)
        )
        self.lengths = tuple(map(len, self.phrases))
        self.start = (0,) * len(self.phrases)
        self.words = frozenset(word for phrase in self.phrases for word in phrase)
        self._borders = [_borders(phrase) for phrase in self.phrases]

    @property
    def fewest_words(self) -> int:
        """So many words, EOS counted, are enough for a translation with all phrases."""
        return self.missing(self.start) + 1

    def after(self, state: tuple[int, ...], word: int) -> tuple[int, ...]:
        """The state after one more word."""
        if word not in self.words:
            pairs = zip(state, self.lengths, strict=True)
            return tuple(place if place == length else 0 for place, length in pairs)
        return tuple(map(self._place_after, range(len(state)), state, [word] * len(state)))

    def _place_after(self, number: int, place: int, word: int) -> int:
        phrase, borders = self.phrases[number], self._borders[number]
        if place == len(phrase):
            return place
        while place and phrase[place] != word:
            place = borders[place - 1]
        return place + (phrase[place] == word)

    def next_words(self, state: tuple[int, ...]) -> list[int]:
        """The words that bring one of the missing phrases forward."""
        return [p[place] for p, place in zip(self.phrases, state, strict=True) if place < len(p)]

    def missing(self, state: tuple[int, ...]) -> int:
        """Words that suffice to complete a translation, without EOS; one of `next_words` is first.

        Those of the phrases one after the other: by overlapping they may need fewer.
        """
        pairs = zip(state, self.lengths, strict=True)
        unmet = [(length, place) for place, length in pairs if place < length]
        return sum(n for n, _ in unmet) - max((place for _, place in unmet), default=0)


def _within(phrase: Phrase, other: Phrase) -> bool:
    places = range(len(other) - len(phrase) + 1)
    return any(other[i : i + len(phrase)] == phrase for i in places)


def _borders(phrase: Phrase) -> list[int]:
    """Of each beginning of a phrase the longest end that is a beginning too, itself left out."""
    borders, border = [0], 0
    for word in phrase[1:]:
        while border and phrase[border] != word:
            border = borders[border - 1]
        border += phrase[border] == word
        borders.append(border)
    return borders


class Avoided:
    """The phrases that a translation must not have, found by the words before their last."""

    def __init__(self, phrases: Sequence[Phrase]):
        self.longest = max(map(len, phrases), default=0)
        self._last: dict[Phrase, list[int]] = {}
        for phrase in dict.fromkeys(phrases):
            self._last.setdefault(phrase[:-1], []).append(phrase[-1])

    def words(self, before: Phrase) -> list[int]:
        """Words that must not follow these, of which the last longest - 1 count."""
        words: list[int] = []
        for length in range(min(len(before), max(0, self.longest - 1)) + 1):
            words += self._last.get(before[len(before) - length :], ())
        return words


@dataclass(frozen=True)
class Constraints:
    """What one translation must have, and must not have."""

    required: Required
    avoided: Avoided

    @classmethod
    def of(cls, required: Sequence[Phrase], avoided: Sequence[Phrase]) -> Constraints | None:
        """None where nothing is asked for."""
        return cls(Required(required), Avoided(avoided)) if required or avoided else None


class Progress(NamedTuple):
    """How far a hypothesis has come."""

    state: tuple[int, ...]  # of `Required`
    last: Phrase  # its last words, as many as `Avoided` looks at


class Asked(NamedTuple):
    """Words that are looked at in a step beside the most probable, and words that are banned."""

    words: np.ndarray  # (R,X) int32, -1 where a row asks for fewer
    banned: list[list[int]]  # of each row


class Tracker:
    """The constraints of all sentences of a search, and how far each live hypothesis has come."""

    def __init__(self) -> None:
        self.constraints: list[Constraints | None] = []  # of each sentence
        self.progress: list[Progress | None] = []  # of each row

    def begin(self, constraints: Sequence[Constraints | None]) -> None:
        """Sentences that join the search, each with one row."""
        self.constraints += constraints
        self.progress += [Progress(c.required.start, ()) if c else None for c in constraints]

    @property
    def idle(self) -> bool:
        """Whether no live hypothesis is constrained."""
        return not any(self.progress)

    def asked(self, sentences: np.ndarray, forced: np.ndarray | None) -> Asked | None:
        """What the rows (R,) ask for; forced: (R,) as of `forced_words`, which has its way."""
        if self.idle and forced is None:
            return None
        wanted: list[list[int]] = []
        banned: list[list[int]] = []
        for row, (sentence, progress) in enumerate(zip(sentences, self.progress, strict=True)):
            constraints = self.constraints[sentence]
            wanted.append([])
            banned.append([])
            if forced is not None and forced[row] >= 0:
                wanted[-1] = [int(forced[row])]
            elif constraints and progress:
                wanted[-1] = constraints.required.next_words(progress.state)
                banned[-1] = constraints.avoided.words(progress.last)
                if wanted[-1]:
                    banned[-1].append(EOS_ID)
        words = np.full((len(wanted), max(map(len, wanted))), -1, np.int32)
        for place, some in enumerate(wanted):
            words[place, : len(some)] = some
        return Asked(words, banned)

    def choose(
        self,
        sentences: np.ndarray,
        totals: np.ndarray,
        words: np.ndarray,
        capacity: np.ndarray,
        left: np.ndarray,
        chosen: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The choice of `best_extensions`, made anew for sentences with required phrases.

        sentences: (R,) of the rows; totals, words: (R,N) of their extensions, -inf where banned;
        capacity, left: (B,) hypotheses and words, EOS counted, that a sentence may still have
        after this step; chosen: rows and places.
        """
        rows, places = chosen
        again = {
            sentence: constraints.required
            for sentence in np.unique(sentences)
            if (constraints := self.constraints[sentence]) and constraints.required.phrases
        }
        if not again:
            return chosen
        kept = ~np.isin(sentences[rows], list(again))
        new_rows, new_places = [rows[kept]], [places[kept]]
        for sentence, required in again.items():
            mine = np.flatnonzero(sentences == sentence)
            best = self._allocate(
                required, mine, totals, words, int(capacity[sentence]), int(left[sentence])
            )
            new_rows.append(np.array([row for row, _ in best], int))
            new_places.append(np.array([place for _, place in best], int))
        all_rows, all_places = np.concatenate(new_rows), np.concatenate(new_places)
        order = np.argsort(sentences[all_rows], kind="stable")
        return all_rows[order], all_places[order]

    def _allocate(
        self,
        required: Required,
        mine: np.ndarray,
        totals: np.ndarray,
        words: np.ndarray,
        capacity: int,
        left: int,
    ) -> list[tuple[int, int]]:
        """The extensions of one sentence that stay: rows and places, the best of each bank.

        A bank has the hypotheses with as many words of the required phrases; those that could not
        be completed in the words that are left are in none.
        """
        banks: dict[int, list[tuple[float, int, int]]] = {}
        for row in mine:
            progress = self.progress[row]
            before = progress.state if progress else required.start
            for place in np.flatnonzero(np.isfinite(totals[row])):
                state = required.after(before, int(words[row, place]))
                missing = required.missing(state)
                if not missing or missing + 1 <= left:  # EOS is to fit in too
                    bank = banks.setdefault(sum(state), [])
                    bank.append((-float(totals[row, place]), int(row), int(place)))
        sizes = {number: len(bank) for number, bank in banks.items()}
        shares = allocation(capacity, sum(required.lengths), sizes)
        best = [one for number, bank in banks.items() for one in sorted(bank)[: shares[number]]]
        return [(row, place) for _, row, place in sorted(best)]

    def advance(self, sentences: np.ndarray, parents: np.ndarray, words: np.ndarray) -> None:
        """The rows after a step: of these sentences, continuing these rows by these words (R,)."""
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
        """Only some rows go on: (R,) bool."""
        self.progress = [p for p, keep in zip(self.progress, kept, strict=True) if keep]


def allocation(capacity: int, most: int, sizes: dict[int, int]) -> dict[int, int]:
    """How many hypotheses of each bank stay, of so many in each; banks are numbered 0 to `most`.

    Each bank has the same share, the last also what is left over of the division; what a bank
    cannot fill goes to the highest that can.
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


def with_asked(
    expansion: Expansion, asked: Asked, forced: np.ndarray | None, unk: int | None
) -> np.ndarray:
    """Which words of an expansion must not follow, (R,N) bool, where some were asked for.

    The words that were asked for stand behind the most probable; those that are among these too
    count there. A forced word is the only one of its row.
    """
    count = asked.words.shape[1]
    top = expansion.words.shape[1] - count
    banned = np.zeros(expansion.words.shape, bool)
    for column in range(top, top + count):
        again = expansion.words[:, :column] == expansion.words[:, column, None]
        banned[:, column] = again.any(axis=1) | (expansion.words[:, column] < 0)
    if unk is not None:
        banned |= expansion.words == unk
    if forced is not None:
        only = np.arange(expansion.words.shape[1]) != top
        banned = np.where((forced >= 0)[:, None], only, banned)
    return banned
