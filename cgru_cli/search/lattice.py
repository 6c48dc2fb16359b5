"""The rows of a search (partial translations): every model's states, and the memory they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..network.network import SearchState
from .constraints import Asked
from .output_words import OutputWords

if TYPE_CHECKING:
    from .ensemble import Ensemble

# Finished sentences leave the memory once less than this share of it is in use: each time, the
# rest is copied.
COMPACT_BELOW = 0.75


class Expansion(NamedTuple):
    """The words that may follow each row, N of them, the most probable first.

    Where a row has fewer words than N, the log-probability of the others is -inf.
    """

    words: np.ndarray  # (R,N) int32
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32: each model's own
    alignment: np.ndarray | None  # (R,S) float32: mean over the models


class Lattice:
    """The rows of a search: every model's states and memory, and the sentence of each row."""

    def __init__(
        self,
        ensemble: Ensemble,
        states: list[SearchState],
        memories: list[Any],
        lengths: np.ndarray,
        narrow: OutputWords | None = None,
    ):
        """lengths: (M,B) int32, words of the sources as each model reads them, including EOS.

        narrow: the words that translations may have, None for the whole vocabulary.
        """
        self.ensemble, self._narrow = ensemble, narrow
        self._states, self._memories = states, memories
        self._lengths = lengths  # of the memories' rows
        self._sentences = int(states[0].sentence.shape[0])
        self._row_of = np.arange(self._sentences)  # sentence -> row of the memory
        self.rows = self._sentences  # of the last step
        self._live = self._row_of  # sentences of the last step

    def join(self, other: Lattice) -> Lattice:
        """The two searches as one; the other's sentences and rows follow these."""
        self._states, self._memories = self.ensemble.append(
            (self._states, self._memories), (other._states, other._memories)
        )
        if self._narrow is not None and other._narrow is not None:
            models = self.ensemble.models
            self._narrow = self._narrow.followed_by(other._narrow, self._live, models)
        self._lengths = np.append(self._lengths, other._lengths, axis=1)
        self._row_of = np.append(self._row_of, other._row_of + self._sentences)
        self._sentences += other._sentences
        self.rows += other.rows
        return self

    def expand(
        self,
        sentences: np.ndarray,
        parents: np.ndarray,
        previous: np.ndarray,
        count: int | None,
        with_alignment: bool,
        asked: Asked | None = None,
    ) -> Expansion:
        """Extend rows by their `count` best words, or (None) by all that may follow, by their ids.

        sentences, parents, previous: (R,) int32: the sentence of each new row (ascending), the
        row of the last step that it continues, and its last word (-1 at the start). asked: words
        to add after the best ones, even if they are among these, and words to leave out; ignored
        without a count.
        """
        self._compact(sentences)
        rows = self._row_of[sentences].astype(np.int32)
        first = np.concatenate([[True], sentences[1:] != sentences[:-1]])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
        slots = (np.arange(len(rows)) - starts).astype(np.int32)
        states = [state._replace(sentence=rows, slot=slots) for state in self._states]
        given = (states, self._memories, parents, previous)
        steps, vocabulary, columns = self.ensemble.steps, None, []
        if self._narrow is not None:
            steps, vocabulary = self.ensemble.narrow_steps, self._narrow.words
            columns = [self._narrow.rows(sentences)]
        size = self.ensemble.vocabulary if vocabulary is None else len(vocabulary)
        if count is None:
            log_probs, own, self._states, alignments = steps.every(*given, *columns)
            words = np.broadcast_to(np.arange(log_probs.shape[1], dtype=np.int32), log_probs.shape)
        elif asked is None:
            words, log_probs, own, self._states, alignments = steps.best(
                *given, min(count, size), *columns
            )
        else:
            places, banned = _places(asked, vocabulary)
            words, log_probs, own, self._states, alignments = steps.asked(
                *given, min(count, size), np.maximum(places, 0), banned, *columns
            )
        words, log_probs = np.asarray(words), log_probs.numpy()
        if vocabulary is not None:
            words = vocabulary[words]
        if asked is not None and count is not None:
            missing = np.pad(places < 0, [[0, 0], [words.shape[1] - places.shape[1], 0]])
            words = np.where(missing, np.int32(-1), words)
            log_probs = np.where(missing, np.float32(-np.inf), log_probs)
        self.rows = len(sentences)
        attention = [alignment.numpy() for alignment in alignments if tf.is_tensor(alignment)]
        alignment = None
        if with_alignment and attention:
            same = [part for part in attention if part.shape == attention[0].shape]
            alignment = np.mean(same, axis=0)
        return Expansion(words, log_probs, own.numpy(), alignment)

    def _compact(self, sentences: np.ndarray) -> None:
        """Drop finished sentences from the memory once there are enough of them.

        The memory shrinks to the longest source left, because a search may run for a long time.
        """
        self._live = live = np.unique(sentences)
        if len(live) >= COMPACT_BELOW * self._sentences:
            return
        kept = self._row_of[live].astype(np.int32)
        self._lengths = self._lengths[:, kept]
        self._memories = self.ensemble.keep(self._memories, kept, self._lengths.max(axis=1))
        self._row_of = np.full(len(self._row_of), -1)
        self._row_of[live] = np.arange(len(live))
        self._sentences = len(live)


def _places(asked: Asked, vocabulary: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Places in the output layer of requested words, (R,X) int32, -1 for none, and of banned words.

    vocabulary: ids of the output layer's words, ascending; None if it has all. Banned places are
    (N,2) int32 pairs of row and place.
    """
    pairs = [(row, word) for row, words in enumerate(asked.banned) for word in words]
    banned = np.array(pairs, np.int32).reshape(-1, 2)
    if vocabulary is None:
        return asked.words, banned
    places = np.minimum(np.searchsorted(vocabulary, asked.words), len(vocabulary) - 1)
    places = np.where(vocabulary[places] == asked.words, places, -1)
    banned = banned[np.isin(banned[:, 1], vocabulary)]
    banned[:, 1] = np.searchsorted(vocabulary, banned[:, 1])
    return places.astype(np.int32), banned
