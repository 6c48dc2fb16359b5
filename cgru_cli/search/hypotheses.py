"""What all searches share: the live hypotheses, one step, and the way back.

A row is a live hypothesis, one that is still extended. All scores are natural logarithms; EOS
(id 0) counts as a word. Letters: R rows, N words that a row may be extended by, M models, S source
words, T words of a hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID
from .constraints import Asked, Constraints, with_asked
from .ensemble import Expansion, Lattice
from .settings import SearchSettings

START = -1  # before the first word: its embedding is zeros


class SearchBatch(NamedTuple):
    """Sentences whose search begins together.

    lengths: of the sources, EOS counted; limits: the most words a translation may have, EOS
    counted; prefixes: words that translations have to begin with, a list a sentence, or none;
    constraints: what each translation must have and must not have, or none.
    """

    lattice: Lattice
    lengths: Sequence[int]
    limits: Sequence[int]
    prefixes: Sequence[Sequence[int]] = ()
    constraints: Sequence[Constraints | None] = ()


class Rows(NamedTuple):
    """The live hypotheses; those of a sentence stand together, sentences in ascending order."""

    sentence: np.ndarray  # (R,) int32: number of the sentence that is translated
    parent: np.ndarray  # (R,) int32: row of the lattice's last expansion that each continues
    continued: np.ndarray  # (R,) int: row of the history's last step that each continues
    previous: np.ndarray  # (R,) int32: last word, START before the first
    score: np.ndarray  # (R,) float32: sum of the words' log-probabilities

    @classmethod
    def begin(cls, sentences: int, first_sentence: int = 0, first_parent: int = 0) -> Rows:
        """A row for each new sentence, before its first word; both are counted from the first."""
        numbers = np.arange(sentences, dtype=np.int32)
        return cls(
            numbers + first_sentence,
            numbers + first_parent,
            numbers,  # nothing is read back from before the first word
            np.full_like(numbers, START),
            np.zeros(sentences, np.float32),
        )

    def take(self, index: np.ndarray) -> Rows:
        """The rows at an index (R',)."""
        return Rows(*(field[index] for field in self))

    def totals(self, expansion: Expansion, banned: np.ndarray) -> np.ndarray:
        """Sums of log-probabilities of all extensions, -inf where they are banned: (R,N)."""
        return np.where(banned, -np.inf, self.score[:, None] + expansion.log_probs)

    def followed_by(self, others: Rows) -> Rows:
        """These rows and behind them the others, of later sentences."""
        return Rows(*map(np.append, self, others))


def forced_words(
    prefixes: Sequence[Sequence[int]], sentences: np.ndarray, steps: np.ndarray
) -> np.ndarray | None:
    """The word that each row has to have at its step, -1 where it is free; None if all are."""
    if not any(prefixes):
        return None
    words = [
        prefixes[sentence][step] if step < len(prefixes[sentence]) else -1
        for sentence, step in zip(sentences, steps, strict=True)
    ]
    return np.array(words, np.int32) if any(word >= 0 for word in words) else None


def expand(
    lattice: Lattice,
    rows: Rows,
    count: int | None,
    settings: SearchSettings,
    forced: np.ndarray | None = None,
    asked: Asked | None = None,
) -> tuple[Expansion, np.ndarray]:
    """The words that may follow each row, and which of them must not, (R,N) bool.

    count: as of `Lattice.expand`; forced: as of `forced_words`; asked: what constraints ask for,
    forced words among it.
    """
    live = (rows.sentence, rows.parent, rows.previous)
    if asked is not None:
        expansion = lattice.expand(*live, count, settings.with_alignment, asked.words, asked.banned)
        return expansion, with_asked(expansion, asked, forced, settings.unk)
    if forced is None:
        expansion = lattice.expand(*live, count, settings.with_alignment)
    else:  # a forced word need not be among the best
        every = lattice.expand(*live, None, settings.with_alignment)
        order = np.argsort(-every.log_probs, axis=1, kind="stable")[:, :count]
        place = np.searchsorted(every.words[0], forced)  # where all words that may follow are
        order[:, 0] = np.where(forced >= 0, place, order[:, 0])
        expansion = every._replace(
            words=np.take_along_axis(every.words, order, axis=1),
            log_probs=np.take_along_axis(every.log_probs, order, axis=1),
            model_log_probs=np.take_along_axis(every.model_log_probs, order[..., None], axis=1),
        )
    banned: np.ndarray = np.zeros(expansion.words.shape, bool)
    if settings.unk is not None:
        banned = expansion.words == settings.unk
    if forced is not None:
        only = np.arange(banned.shape[1]) > 0
        banned = np.where((forced >= 0)[:, None], only, banned)
    return expansion, banned


class SearchResult(NamedTuple):
    """One translation; T words, EOS among them if it is finished."""

    words: np.ndarray  # (T,) int32
    finished: bool
    score: float  # weighted sum of log-probabilities
    total: float  # what it is ranked by
    word_scores: np.ndarray  # (T,) float32: weighted log-probability of each word
    model_scores: np.ndarray  # (M,) float32: each model's own sum
    alignment: np.ndarray | None  # (T,S) float32
    channel: float = 0.0  # log p(source | translation), of a noisy channel
    lm: float = 0.0  # log p(translation), of a noisy channel


class _Step(NamedTuple):
    """One time step of the search: R rows chosen among the extensions of R' expanded ones."""

    parents: np.ndarray  # (R,) row of the step before that each continues
    words: np.ndarray  # (R,)
    log_probs: np.ndarray  # (R,)
    model_log_probs: np.ndarray  # (R,M)
    alignment: np.ndarray | None  # (R,S)


@dataclass
class History:
    """The steps of a search, to read a hypothesis back from its last row."""

    settings: SearchSettings
    steps: dict[int, _Step] = field(default_factory=dict)
    count: int = 0

    def add(
        self, continued: np.ndarray, expansion: Expansion, rows: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Note which extensions were chosen; their words and log-probabilities.

        continued: (R',) row of the step before of each expanded row; rows, places: (R,) expanded
        row and place in its list of words.
        """
        words, log_probs = expansion.words[rows, places], expansion.log_probs[rows, places]
        own = expansion.model_log_probs[rows, places]
        alignment = None if expansion.alignment is None else expansion.alignment[rows]
        self.steps[self.count] = _Step(continued[rows], words, log_probs, own, alignment)
        self.count += 1
        return words, log_probs

    def forget(self, first: int) -> None:
        """Let go of what lies before a step."""
        for step in [step for step in self.steps if step < first]:
            del self.steps[step]

    def result(
        self, row: int, length: int, step: int | None = None, first: int = 0
    ) -> SearchResult:
        """The hypothesis that ends in a row of a step, the last one if none is given.

        length: of its source, to cut alignments; first: the step that it began at.
        """
        words, log_probs, own, alignment = [], [], [], []
        step = self.count - 1 if step is None else step
        last = self.steps[step].words[row]
        for t in range(step, first - 1, -1):
            s = self.steps[t]
            words.append(s.words[row])
            log_probs.append(s.log_probs[row])
            own.append(s.model_log_probs[row])
            if s.alignment is not None:
                alignment.append(s.alignment[row, :length])
            row = s.parents[row]
        # summed in the order in which the search added them up
        score = float(np.add.accumulate(np.array(log_probs[::-1], np.float32))[-1])
        return SearchResult(
            np.array(words[::-1], np.int32),
            last == EOS_ID,
            score,
            self.settings.total(score, len(words)),
            np.array(log_probs[::-1], np.float32),
            np.sum(np.array(own[::-1]), axis=0),
            np.stack(alignment[::-1]) if alignment else None,
        )


def best_extensions(
    rows: Rows, totals: np.ndarray, capacity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best `capacity` extensions of each live sentence: rows (ascending sentence), places.

    totals: (R,N), what extensions are ranked by, -inf where a word must not follow; capacity: (B,)
    int, of every sentence.

    The best k of a sentence are among the best k of its rows, so only those are looked at. Equal
    scores go to the earlier row, then to the more probable word.
    """
    count = totals.shape[1]
    live = np.unique(rows.sentence)
    starts = np.searchsorted(rows.sentence, live)
    sizes = np.diff(np.append(starts, len(rows.sentence)))
    width = int(sizes.max())
    index = starts[:, None] + np.arange(width)
    inside = np.arange(width) < sizes[:, None]
    padded = np.where(inside[..., None], totals[np.where(inside, index, 0)], -np.inf)
    flat = padded.reshape(len(live), -1)
    room = capacity[live]
    order = np.argsort(-flat, axis=1, kind="stable")[:, : int(room.max())]
    taken = np.arange(order.shape[1]) < room[:, None]
    taken &= np.isfinite(np.take_along_axis(flat, order, axis=1))
    which, _ = np.nonzero(taken)
    places = order[taken]
    return starts[which] + places // count, places % count
