"""The words that translations may have, where that is not the whole vocabulary.

Each sentence may have its own set of words. The output layer is computed for the union of the sets
of all sentences that are searched together; in each row, words outside the sentence's set have
probability 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from ..network.network import Network
from ..network.readout import OutputColumns

if TYPE_CHECKING:
    from ..network.keras_model import RecurrentModel


class OutputWords(NamedTuple):
    """Sets of words, G of them with N words in all, and the output layer of these words."""

    words: np.ndarray  # (N,) int32, ascending
    members: np.ndarray  # (G,N) bool: the words of each set
    sets: np.ndarray  # (B,) int32: the set of each sentence of the search
    columns: list[OutputColumns]  # of each model

    @classmethod
    def of(
        cls,
        sets: Sequence[np.ndarray],
        numbers: np.ndarray,
        models: Sequence[Network | RecurrentModel],
    ) -> OutputWords:
        """Sets of ids, each ascending and with EOS; numbers: (B,) the set of each sentence."""
        members = np.zeros((len(sets), 1 + max(int(words[-1]) for words in sets)), bool)
        for row, words in zip(members, sets, strict=True):
            row[words] = True
        words = np.flatnonzero(members.any(axis=0)).astype(np.int32)
        members = members[:, words]
        columns = [model.network().read_out.columns(tf.constant(words)) for model in models]
        columns = [one._replace(members=tf.constant(members)) for one in columns]
        return cls(words, members, numbers.astype(np.int32), columns)

    def followed_by(
        self, others: OutputWords, live: np.ndarray, models: Sequence[Network | RecurrentModel]
    ) -> OutputWords:
        """These sets, without those of finished sentences, followed by the others.

        live: (L,) sentences of these that are still searched.
        """
        kept = np.unique(self.sets[live])
        sets = [self.words[row] for row in self.members[kept]]
        sets += [others.words[row] for row in others.members]
        new_number = np.zeros(len(self.members), np.int32)  # finished sentences may have any set
        new_number[kept] = np.arange(len(kept))
        numbers = np.append(new_number[self.sets], others.sets + len(kept))
        return OutputWords.of(sets, numbers, models)

    def rows(self, sentences: np.ndarray) -> list[OutputColumns]:
        """The output layers for rows of these sentences (R,)."""
        sets = tf.constant(self.sets[sentences])
        return [columns._replace(sets=sets) for columns in self.columns]
