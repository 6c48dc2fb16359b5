"""The progress of live hypotheses through their prefixes and required phrases.

The beam is divided among hypotheses by the number of words of the required phrases that they
contain: dynamic beam allocation (Post and Vilar 2018, "Fast Lexically Constrained Decoding with
Dynamic Beam Allocation"). A step therefore costs the same for any number of phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID
from .constraints import Constraints, NextWords, Phrase


class Progress(NamedTuple):
    """The progress of one hypothesis through the constraints of its sentence."""

    constraints: Constraints
    state: tuple[int, ...]  # of `Required`
    last: Phrase = ()  # its last words, as many as `Avoided` needs

    def after(self, word: int) -> Progress:
        """The progress after another word."""
        required, avoided = self.constraints.required, self.constraints.avoided
        last = (*self.last, word)[-max(1, avoided.longest - 1) :]
        return self._replace(state=required.after(self.state, word), last=last)


class Tracker:
    """The constraints of all sentences of a search, and the progress of each live hypothesis.

    Without constraints and prefixes, a tracker changes nothing. A soft prefix is active as long as
    the hypothesis follows it.
    """

    def __init__(self, *, soft: bool = False) -> None:
        self._soft = soft
        self._forced: np.ndarray = np.zeros(0, np.int32)  # words that prefixes forced last
        self.follows: np.ndarray = np.zeros(0, bool)  # (R,) whether rows still follow their prefix
        self.prefixes: list[Sequence[int]] = []  # by sentence
        self.progress: list[Progress | None] = []  # by row

    def begin(
        self,
        count: int,
        prefixes: Sequence[Sequence[int]],
        constraints: Sequence[Constraints | None] = (),
    ) -> None:
        """Add the sentences of a `SearchBatch`, `count` of them, each with one row."""
        self.prefixes += prefixes or [()] * count
        self.follows = np.append(self.follows, np.ones(count, bool))
        self.progress += [
            Progress(one, one.required.start) if one else None
            for one in constraints or [None] * count
        ]

    @property
    def idle(self) -> bool:
        """Whether no live hypothesis has to satisfy constraints."""
        return not any(self.progress)

    def next_words(self, sentences: np.ndarray, steps: np.ndarray) -> NextWords | None:
        """The next words that rows (R,) require or forbid; None if there are none.

        steps: (R,), the length of each row so far. A forced prefix overrides the other constraints.
        """
        forced = self._prefix_words(sentences, steps)
        self._forced = forced.copy()
        if self.idle and (forced < 0).all():
            return None
        needed: list[list[int]] = [[int(word)] if word >= 0 else [] for word in forced]
        banned: list[list[int]] = [[] for _ in needed]
        for row, progress in enumerate(self.progress):
            if progress and (forced[row] < 0 or self._soft):
                required, avoided = progress.constraints.required, progress.constraints.avoided
                forces = progress.constraints.forced
                missing = required.next_words(progress.state) if forces else []
                needed[row] += missing
                banned[row] = avoided.words(progress.last) + required.spent(progress.state)
                if missing:
                    banned[row].append(EOS_ID)
                if forced[row] in banned[row]:
                    forced[row] = -1
        if not any(needed) and not any(banned):
            return None
        words = np.full((len(needed), max(map(len, needed))), -1, np.int32)
        for row, some in enumerate(needed):
            words[row, : len(some)] = some
        return NextWords(words, banned, forced)

    def _prefix_words(self, sentences: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """The next word of each row's prefix, -1 after its end or once unmatched: (R,) int32."""
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
        """Choose extensions like `best_extensions`, by bank for sentences with forced phrases.

        sentences: (R,), by row; totals, words: (R,N), of their extensions, -inf where banned;
        capacity, left: (B,), the numbers of hypotheses and of words (including EOS) that a sentence
        may still have after this step; chosen: rows and indices.
        """
        again: dict[int, list[tuple[int, Progress]]] = {}  # hypotheses by sentence
        for row, (sentence, progress) in enumerate(
            zip(sentences.tolist(), self.progress, strict=True)
        ):
            if progress and progress.constraints.forced and progress.constraints.required.phrases:
                again.setdefault(sentence, []).append((row, progress))
        if not again:
            return chosen
        kept = ~np.isin(sentences[chosen[0]], list(again))
        pairs = list(zip(*(x[kept].tolist() for x in chosen), strict=True))
        for sentence, mine in again.items():
            pairs += _allocate(mine, totals, words, int(capacity[sentence]), int(left[sentence]))
        rows, places = np.array(pairs, int).reshape(-1, 2).T
        order = np.argsort(sentences[rows], kind="stable")
        return rows[order], places[order]

    def advance(self, parents: np.ndarray, words: np.ndarray) -> None:
        """Take a step: the new rows (R,) extend these parents by words."""
        forced = self._forced[parents]
        self.follows = self.follows[parents] & ((forced < 0) | (forced == words))
        if self.idle:
            self.progress = [None] * len(words)
            return
        before = (self.progress[parent] for parent in parents)
        pairs = zip(before, words.tolist(), strict=True)
        self.progress = [progress and progress.after(word) for progress, word in pairs]

    def take(self, kept: np.ndarray) -> None:
        """Keep the rows selected by a mask: (R,) bool."""
        self.follows = self.follows[kept]
        self.progress = [p for p, keep in zip(self.progress, kept, strict=True) if keep]


def _allocate(
    hypotheses: Sequence[tuple[int, Progress]],
    totals: np.ndarray,
    words: np.ndarray,
    capacity: int,
    left: int,
) -> list[tuple[int, int]]:
    """Choose the best extensions of each bank of one sentence; returns rows and indices.

    hypotheses: the rows of the sentence. A bank has the hypotheses that contain the same number of
    words of the required phrases. A hypothesis is in no bank if the length limit leaves it too few
    words.
    """
    required = hypotheses[0][1].constraints.required
    banks: dict[int, list[tuple[float, int, int]]] = {}
    for row, progress in hypotheses:
        for place in np.flatnonzero(np.isfinite(totals[row])).tolist():
            state = required.after(progress.state, int(words[row, place]))
            missing = required.missing(state)
            if not missing or missing + 1 <= left:  # with EOS
                bank = banks.setdefault(required.met(state), [])
                bank.append((-float(totals[row, place]), row, place))
    shares = allocation(capacity, required.most, {met: len(bank) for met, bank in banks.items()})
    best = [one for met, bank in banks.items() for one in sorted(bank)[: shares[met]]]
    return [(row, place) for _, row, place in sorted(best)]


def allocation(capacity: int, most: int, sizes: dict[int, int]) -> dict[int, int]:
    """The number of hypotheses to keep from each bank, by number of words, 0 to `most`.

    sizes: hypotheses of each bank. Each bank has the same share; the last bank also gets the
    remainder of the division. Places that a bank cannot fill go to the highest bank that can.
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
