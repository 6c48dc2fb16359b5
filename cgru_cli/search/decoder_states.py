"""The live hypotheses of a search, their decoder states, and the memory that the decoders read.

States and memory are independent of the computing library: a `Stepper` runs the models, such as
`Ensemble` with ONNX Runtime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .constraints import NextWords
from .output_words import Narrow, OutputWords
from .settings import SearchSettings

START = -1  # before the first word; its embedding is zero
# Finished sentences leave the memory once less than this share of it is in use, because removing
# them copies the rest.
COMPACT_BELOW = 0.75
# Encoding a batch in two parts costs as much as this many words of padding.
LEAST_SAVED = 100

Sources = Sequence[tuple[np.ndarray, np.ndarray]]  # of each model: ids (B,S,F) and mask (B,S)
Encoded = tuple[list[Any], list[Any]]  # the states and the memories of each model


class StepRows(NamedTuple):
    """The hypotheses that a step extends, one per row; each (R,) int32."""

    parents: np.ndarray  # the row of the last step that each one continues
    previous: np.ndarray  # the last word, -1 at the start
    sentence: np.ndarray  # the row of the memory
    slot: np.ndarray  # the number of the row within its sentence


class WordsToScore(NamedTuple):
    """The words whose scores a step returns for each row.

    best: the number of most probable words; None: all words. required: (R,X) int32, words to add
    after these. banned: (N,2) int32, pairs of row and word, which get the score -inf. Words are
    indices in the output layer. narrow: the words to which rows are restricted.
    """

    best: int | None = None
    required: np.ndarray | None = None
    banned: np.ndarray | None = None
    narrow: Narrow | None = None


class StepResult(NamedTuple):
    """The result of a step of R rows."""

    words: np.ndarray | None  # (R,N) int32: indices in the output layer; None for all words
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32
    states: list[Any]  # of each model
    alignments: list[np.ndarray]  # (R,S) float32, for each model with attention


class Expansion(NamedTuple):
    """The N words that may follow each row, the most probable first.

    If a row has fewer words than N, the others have the log-probability -inf.
    """

    words: np.ndarray  # (R,N) int32
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32: each model's own
    alignment: np.ndarray | None  # (R,S) float32: of the first model, or the mean


class Rows(NamedTuple):
    """The live hypotheses, which the search still extends, by sentence in ascending order."""

    sentence: np.ndarray  # (R,) int32: number of the sentence that is translated
    parent: np.ndarray  # (R,) int32: row of the decoder states' last step that each continues
    continued: np.ndarray  # (R,) int: row of the history's last step that each continues
    previous: np.ndarray  # (R,) int32: last word, START before the first
    score: np.ndarray  # (R,) float32: sum of the words' log-probabilities

    @classmethod
    def begin(cls, sentences: int, first_sentence: int = 0, first_parent: int = 0) -> Rows:
        """A row for each new sentence, before its first word; numbers begin at `first_sentence`."""
        numbers = np.arange(sentences, dtype=np.int32)
        return cls(
            numbers + first_sentence,
            numbers + first_parent,
            numbers,  # never followed: results end at the first word
            np.full_like(numbers, START),
            np.zeros(sentences, np.float32),
        )

    def take(self, index: np.ndarray) -> Rows:
        """The rows at these indices, (R',)."""
        return Rows(*(field[index] for field in self))

    def totals(self, expansion: Expansion) -> np.ndarray:
        """Sums of log-probabilities of all extensions: (R,N)."""
        return self.score[:, None] + expansion.log_probs

    def followed_by(self, others: Rows) -> Rows:
        """These rows, followed by the rows of later sentences."""
        return Rows(*map(np.append, self, others))


class DecoderStates:
    """The decoder states of a search: of every model, a row for each hypothesis.

    They grow by a word in each step. The models' memories have a row for each sentence.
    """

    def __init__(
        self,
        stepper: Stepper,
        states: list[Any],
        memories: list[Any],
        lengths: np.ndarray,
        words: Sequence[np.ndarray] = (),
    ):
        """lengths: (M,B) int32, words of the sources as each model reads them, including EOS.

        words: ids that translations may contain, ascending, including EOS: an array (N,) for each
        sentence, or one for all; by default the whole vocabulary.
        """
        self._stepper, self._narrow = stepper, None
        self._states, self._memories = states, memories
        self._lengths = lengths  # of each source, by row of the memories
        self._sentences = lengths.shape[1]
        if len(words):
            sets = np.arange(self._sentences) % len(words)
            self._narrow = OutputWords.of(words, sets, stepper.columns)
        self._row_of = np.arange(self._sentences)  # sentence -> row of the memory
        self.rows = self._sentences  # number of rows in the last step
        self._live = self._row_of  # sentences of the last step

    def join(self, other: DecoderStates) -> DecoderStates:
        """Join two searches; the other's sentences and rows come last."""
        self._states, self._memories = self._stepper.append(
            (self._states, self._memories), (other._states, other._memories)
        )
        if self._narrow is not None and other._narrow is not None:
            columns = self._stepper.columns
            self._narrow = self._narrow.followed_by(other._narrow, self._live, columns)
        self._lengths = np.append(self._lengths, other._lengths, axis=1)
        self._row_of = np.append(self._row_of, other._row_of + self._sentences)
        self._sentences += other._sentences
        self.rows += other.rows
        return self

    def expand(
        self,
        rows: Rows,
        count: int | None,
        settings: SearchSettings,
        next_words: NextWords | None = None,
    ) -> Expansion:
        """The words that may follow each row, with log-probability -inf where they must not.

        count: the number of best words of each row; None: all words, in order of their ids.
        next_words: those that constraints and prefixes require or forbid; required words follow the
        best ones. With a bias b, a prefix's word has the probability b + (1 - b) p, and other words
        (1 - b) p, as in CTranslate2's biased decoding.
        """
        expansion = self._step(rows, count, settings, next_words)
        words, log_probs, bias = expansion.words, expansion.log_probs, settings.prefix_bias
        banned = words == (-1 if settings.unk is None else settings.unk)
        if next_words is not None:
            forced = next_words.forced[:, None]
            if bias is None:
                banned = np.where(forced >= 0, words != forced, banned)
            else:
                log_probs = np.where(banned, -np.inf, log_probs)
                mixed = np.log1p(-bias) + log_probs
                mixed = np.where(words == forced, np.logaddexp(mixed, np.log(bias)), mixed)
                log_probs = np.where(forced >= 0, mixed, log_probs).astype(np.float32)
                banned &= words != forced
            if count is not None:  # count a required word only once if it is among the best
                for column in range(words.shape[1] - next_words.required.shape[1], words.shape[1]):
                    again = words[:, :column] == words[:, column, None]
                    banned[:, column] |= again.any(axis=1)
        return expansion._replace(log_probs=np.where(banned, np.float32(-np.inf), log_probs))

    def _step(
        self, rows: Rows, count: int | None, settings: SearchSettings, next_words: NextWords | None
    ) -> Expansion:
        """Extend rows by their `count` best words, and by the required words even if among these.

        Words to exclude have the log-probability -inf. Without a count, these are ignored.
        """
        sentences = rows.sentence
        self._compact(sentences)
        first = np.concatenate([[True], sentences[1:] != sentences[:-1]])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(sentences)), 0))
        slots = (np.arange(len(sentences)) - starts).astype(np.int32)
        memory_rows = self._row_of[sentences].astype(np.int32)
        narrow, vocabulary, size = None, None, self._stepper.vocabulary
        if self._narrow is not None:
            narrow, vocabulary = self._narrow.rows(sentences), self._narrow.words
            size = len(vocabulary)
        places, to_score = None, WordsToScore(narrow=narrow)
        if count is not None:
            to_score = to_score._replace(best=min(count, size))
            if next_words is not None:
                places, banned = _places(next_words, vocabulary)
                to_score = to_score._replace(required=np.maximum(places, 0), banned=banned)
        step_rows = StepRows(rows.parent, rows.previous, memory_rows, slots)
        stepped = self._stepper.step(self._states, self._memories, step_rows, to_score)
        words, log_probs, self._states = stepped.words, stepped.log_probs, stepped.states
        if words is None:
            words = np.broadcast_to(np.arange(size, dtype=np.int32), log_probs.shape)
        if vocabulary is not None:
            words = vocabulary[words]
        if places is not None:
            missing = np.pad(places < 0, [[0, 0], [words.shape[1] - places.shape[1], 0]])
            words = np.where(missing, np.int32(-1), words)
            log_probs = np.where(missing, np.float32(-np.inf), log_probs)
        self.rows = len(sentences)
        alignment = None
        if settings.with_alignment and stepped.alignments:
            shape = stepped.alignments[0].shape
            same = [part for part in stepped.alignments if part.shape == shape]
            alignment = same[0] if settings.first_aligns else np.mean(same, axis=0)
        return Expansion(words, log_probs, stepped.model_log_probs, alignment)

    def _compact(self, sentences: np.ndarray) -> None:
        """Drop finished sentences from the memory once there are many.

        The memory shrinks to the longest remaining source, because a search may run very long.
        """
        # unlike np.unique of an array, this does not import numpy.ma, which takes 20 ms
        self._live = live = np.unique(sentences, return_index=True)[0]
        if len(live) >= COMPACT_BELOW * self._sentences:
            return
        kept = self._row_of[live].astype(np.int32)
        self._lengths = self._lengths[:, kept]
        self._memories = self._stepper.keep(self._memories, kept, self._lengths.max(axis=1))
        self._row_of = np.full(len(self._row_of), -1)
        self._row_of[live] = np.arange(len(live))
        self._sentences = len(live)


class Stepper(ABC):
    """Models that take steps together; only a stepper interprets states and memories."""

    vocabulary: int

    def begin(self, sources: Sources, words: Sequence[np.ndarray] = ()) -> DecoderStates:
        """Encode a batch; words: the target words to choose from, by line."""
        lengths = np.array([np.asarray(mask).sum(axis=1) for _, mask in sources], np.int32)
        count = first_part(lengths.max(axis=0))
        begun = []
        for part in (slice(count), slice(count, None)):
            own = lengths[:, part]
            if own.size:
                some = [
                    (ids[part, :longest], mask[part, :longest])
                    for (ids, mask), longest in zip(sources, own.max(axis=1), strict=True)
                ]
                allowed = words[part] if len(words) > 1 else words
                begun.append(DecoderStates(self, *self.encode(some), own, allowed))
        return begun[0].join(begun[1]) if begun[1:] else begun[0]

    @abstractmethod
    def encode(self, sources: Sources) -> Encoded:
        """Encode a batch."""

    @abstractmethod
    def step(
        self, states: list[Any], memories: list[Any], rows: StepRows, words: WordsToScore
    ) -> StepResult:
        """Extend the rows by one word."""

    @abstractmethod
    def columns(self, words: np.ndarray, members: np.ndarray) -> Any:
        """The output layer of words (N,) in G sets (G,N), for `Narrow.columns`."""

    @abstractmethod
    def keep(self, memories: list[Any], rows: np.ndarray, lengths: np.ndarray) -> list[Any]:
        """Rows (B',) of memories, cut to the longest remaining source of each model, (M,)."""

    @abstractmethod
    def append(self, first: Any, second: Any) -> Any:
        """Join the states and memories of two searches; the second's rows follow the first's."""


def joined(x: np.ndarray, y: np.ndarray, has_source: bool) -> np.ndarray:
    """The rows of two states or memories; has_source: whether they have a source axis, (B,S,..)."""
    if has_source:
        longest = max(x.shape[1], y.shape[1])
        x, y = (
            np.pad(z, [(0, 0), (0, longest - z.shape[1])] + [(0, 0)] * (z.ndim - 2)) for z in (x, y)
        )
    return np.concatenate([x, y])


def first_part(lengths: np.ndarray) -> int:
    """The number of sentences to encode separately from the others, to reduce padding.

    lengths: (B,) int, words of the sources. Returns B if two parts would save little.
    """
    longest = np.maximum.accumulate(lengths)
    saved = np.arange(len(lengths)) * (longest[-1] - np.append(0, longest[:-1]))
    best = int(saved.argmax())
    return best if saved[best] >= LEAST_SAVED else len(lengths)


def _places(next_words: NextWords, vocabulary: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Output-layer indices of required words, (R,X) int32, -1 for none, and of banned words.

    vocabulary: ids of the output layer's words, ascending; None for all. Banned words are (N,2)
    int32 pairs of row and index.
    """
    pairs = [(row, word) for row, words in enumerate(next_words.banned) for word in words]
    banned = np.array(pairs, np.int32).reshape(-1, 2)
    if vocabulary is None:
        return next_words.required, banned
    places = np.minimum(np.searchsorted(vocabulary, next_words.required), len(vocabulary) - 1)
    places = np.where(vocabulary[places] == next_words.required, places, -1)
    banned = banned[np.isin(banned[:, 1], vocabulary)]
    banned[:, 1] = np.searchsorted(vocabulary, banned[:, 1])
    return places.astype(np.int32), banned
