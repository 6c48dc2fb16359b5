"""Restrictions of the output vocabulary.

Each sentence may have its own set of output words. The output layer is computed for the union of
the sets of all sentences in a search; in each row, words outside the sentence's set have
probability 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

# (words (N,), sets (G,N)) -> their output layer, in the form that the models use
Columns = Callable[[np.ndarray, np.ndarray], Any]


class Narrow(NamedTuple):
    """The output layer for the rows of a step."""

    columns: Any
    sets: np.ndarray  # (R,) int32: the set of each row


class OutputWords(NamedTuple):
    """Sets of words, G of them with N words in all, and the output layer of these words."""

    words: np.ndarray  # (N,) int32, ascending
    members: np.ndarray  # (G,N) bool: the words of each set
    sets: np.ndarray  # (B,) int32: the set of each sentence of the search
    columns: Any  # the output layer of these words

    @classmethod
    def of(cls, sets: Sequence[np.ndarray], numbers: np.ndarray, columns: Columns) -> OutputWords:
        """Sets of ids, each ascending and with EOS; numbers: (B,), the set of each sentence."""
        members = np.zeros((len(sets), 1 + max(int(words[-1]) for words in sets)), bool)
        for row, words in zip(members, sets, strict=True):
            row[words] = True
        words = np.flatnonzero(members.any(axis=0)).astype(np.int32)
        members = members[:, words]
        return cls(words, members, numbers.astype(np.int32), columns(words, members))

    def followed_by(self, others: OutputWords, live: np.ndarray, columns: Columns) -> OutputWords:
        """These sets, without those of finished sentences, followed by the other sets.

        live: (L,), the unfinished sentences that use these sets.
        """
        kept = np.unique(self.sets[live])
        sets = [self.words[row] for row in self.members[kept]]
        sets += [others.words[row] for row in others.members]
        new_number = np.zeros(len(self.members), np.int32)  # finished sentences may have any set
        new_number[kept] = np.arange(len(kept))
        numbers = np.append(new_number[self.sets], others.sets + len(kept))
        return OutputWords.of(sets, numbers, columns)

    def rows(self, sentences: np.ndarray) -> Narrow:
        """The output layer for rows of these sentences (R,)."""
        return Narrow(self.columns, self.sets[sentences])
