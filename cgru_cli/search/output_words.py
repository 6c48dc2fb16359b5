"""The words that a search may write, where these are not the whole vocabulary.

Sentences, or whole batches of them, have words of their own, whatever they share steps with: the
output layer is computed for the words of all that are searched together, and in each row the words
of others have no probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from ..network.network import SearchedModel
from ..network.readout import OutputColumns


class OutputWords(NamedTuple):
    """Sets of words, G of them with N words in all, and the output layer of these words."""

    words: np.ndarray  # (N,) int32, ascending
    members: np.ndarray  # (G,N) bool: the words of each set
    of_sentence: np.ndarray  # (B,) int32: the set of each sentence of the search
    columns: list[OutputColumns]  # of each model

    @classmethod
    def of(
        cls, sets: Sequence[np.ndarray], of_sentence: np.ndarray, networks: Sequence[SearchedModel]
    ) -> OutputWords:
        """Sets of words, each of ids in ascending order with EOS, and which one a sentence has."""
        members = np.zeros((len(sets), 1 + max(int(words[-1]) for words in sets)), bool)
        for row, words in zip(members, sets, strict=True):
            row[words] = True
        words = np.flatnonzero(members.any(axis=0)).astype(np.int32)
        members = members[:, words]
        columns = [network.read_out.columns(tf.constant(words)) for network in networks]
        columns = [one._replace(members=tf.constant(members)) for one in columns]
        return cls(words, members, of_sentence.astype(np.int32), columns)

    def followed_by(
        self, others: OutputWords, live: np.ndarray, networks: Sequence[SearchedModel]
    ) -> OutputWords:
        """These words and those of sentences that join the search; live: (L,) who is still in it.

        What is of sentences that are done is let go.
        """
        kept = np.unique(self.of_sentence[live])
        sets = [self.words[row] for row in self.members[kept]]
        sets += [others.words[row] for row in others.members]
        new_place = np.zeros(len(self.members), np.int32)  # of sentences that are done: any
        new_place[kept] = np.arange(len(kept))
        of_sentence = np.append(new_place[self.of_sentence], others.of_sentence + len(kept))
        return OutputWords.of(sets, of_sentence, networks)

    def rows(self, sentences: np.ndarray) -> tuple[list[OutputColumns], np.ndarray]:
        """The output layers for rows of these sentences (R,), and the words."""
        of_row = tf.constant(self.of_sentence[sentences])
        return [columns._replace(of_row=of_row) for columns in self.columns], self.words
