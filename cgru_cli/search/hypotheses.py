"""The parts shared by all searches: one step, and the results.

All scores are natural logarithms; EOS
(id 0) counts as a word. Letters: B sentences, R rows, N candidate words of a row, M models, S
source words, T words of a hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID
from .constraints import Constraints
from .decoder_states import DecoderStates, Expansion, Rows
from .settings import SearchSettings


class SearchBatch(NamedTuple):
    """Sentences whose search begins together."""

    states: DecoderStates
    lengths: Sequence[int]  # of the sources, including EOS
    limits: Sequence[int]  # the maximum length of each translation, including EOS
    prefixes: Sequence[Sequence[int]] = ()  # the first words of each translation; () for none
    constraints: Sequence[Constraints | None] = ()  # of each translation; () for none
    lines: Sequence[int] = ()  # line numbers in the input, which seed samples


class SearchResult(NamedTuple):
    """One translation: T words, including EOS if it is finished."""

    words: np.ndarray  # (T,) int32
    finished: bool
    score: float  # weighted sum of log-probabilities
    total: float  # the total by which it is ranked
    word_scores: np.ndarray  # (T,) float32: weighted log-probability of each word
    model_word_scores: np.ndarray  # (T,M) float32: each model's own log-probabilities
    alignment: np.ndarray | None  # (T,S) float32
    channel: float = 0.0  # log p(source | translation), of a noisy channel
    lm: float = 0.0  # log p(translation), of a noisy channel


class _Step(NamedTuple):
    """One time step of the search: R rows, chosen among the extensions of R' rows."""

    parents: np.ndarray  # (R,) row of the previous step that each continues
    words: np.ndarray  # (R,)
    log_probs: np.ndarray  # (R,)
    model_log_probs: np.ndarray  # (R,M)
    alignment: np.ndarray | None  # (R,S)


@dataclass
class History:
    """The steps of a search, from which `result` reads hypotheses back."""

    settings: SearchSettings
    steps: dict[int, _Step] = field(default_factory=dict)
    count: int = 0

    def extend(
        self, rows: Rows, expansion: Expansion, parents: np.ndarray, places: np.ndarray
    ) -> Rows:
        """Add a step and return its rows, which extend parents (R,) by the words at places (R,)."""
        words, log_probs = expansion.words[parents, places], expansion.log_probs[parents, places]
        own = expansion.model_log_probs[parents, places]
        alignment = None if expansion.alignment is None else expansion.alignment[parents]
        self.steps[self.count] = _Step(rows.continued[parents], words, log_probs, own, alignment)
        self.count += 1
        return Rows(
            sentence=rows.sentence[parents],
            parent=parents.astype(np.int32),
            continued=np.arange(len(parents)),
            previous=words,
            score=rows.score[parents] + log_probs,
        )

    def forget(self, first: int) -> None:
        """Drop the steps before this one."""
        for step in [step for step in self.steps if step < first]:
            del self.steps[step]

    def result(
        self, row: int, length: int, step: int | None = None, first: int = 0
    ) -> SearchResult:
        """The hypothesis that ends in a row of a step, by default the last one.

        length: the length of its source, to cut alignments; first: the step at which it began.
        """
        path = []
        for t in range(self.count - 1 if step is None else step, first - 1, -1):
            path.append((self.steps[t], row))
            row = self.steps[t].parents[row]
        path.reverse()
        words = np.array([step.words[row] for step, row in path], np.int32)
        log_probs = np.array([step.log_probs[row] for step, row in path], np.float32)
        own = np.array([step.model_log_probs[row] for step, row in path])
        attention = [s.alignment[row, :length] for s, row in path if s.alignment is not None]
        # summed in the same order as during the search
        score = float(np.add.accumulate(log_probs)[-1])
        return SearchResult(
            words,
            words[-1] == EOS_ID,
            score,
            self.settings.total(score, len(words)),
            log_probs,
            own,
            np.stack(attention) if attention else None,
        )


def best_extensions(
    rows: Rows, totals: np.ndarray, capacity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best `capacity` extensions of each live sentence: rows (by sentence) and indices.

    totals: (R,N), the totals by which extensions are ranked, -inf for forbidden words; capacity:
    (B,) int, the places of each sentence.

    The best k of a sentence are among the best k of each of its rows, so the others are skipped.
    Ties go to the earlier row, then to the more probable word.
    """
    count = totals.shape[1]
    live, starts = np.unique(rows.sentence, return_index=True)
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
