"""The batches of an epoch, and the padded arrays of a batch.

The batches of an epoch depend only on lengths, settings, seed and epoch, so the epoch and the
number of batches taken from it define the position in the data.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Self

import numpy as np

from ..parameters.structure import EOS_ID
from .columns import within
from .corpus import Corpus
from .teacher_words import from_the_end, words_and_shares

LengthSort = Literal["trg", "src", "none"]  # the side whose length is the primary key
# Whether a number of sentences, with the longest source and target (including EOS), fit into a
# batch. Must be monotonic: if false, also false for larger numbers.
Fits = Callable[[int, int, int], bool]


class Batches:
    """The batches of any epoch over N pairs with these lengths, (N, 2) with EOS.

    An epoch takes all pairs in a new order (without `shuffle`, in the order of the corpus), in
    maxi-batches of `maxi_batch * sentences` pairs, as in Marian and Nematus. Each maxi-batch is
    sorted by target then source length ("trg"), source then target length ("src") or not at all,
    cut into batches, and its batches are shuffled (`shuffle_batches`; None: like `shuffle`). A
    batch has as many pairs as fit, at least one; if `fits` is None, it has `sentences` pairs. If
    `words` is not 0, a batch ends with the pair that brings its source words (a language model's
    target words) above this number, as in Marian.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        sentences: int,
        fits: Fits | None = None,
        *,
        words: int = 0,
        maxi_batch: int,
        sort: LengthSort = "trg",
        seed: int,
        shuffle: bool = True,
        shuffle_batches: bool | None = None,
    ):
        self._lengths = lengths
        self._sentences, self._fits, self._words = sentences, fits, words
        self._window = maxi_batch * sentences
        # lexsort's last key is the primary key
        self._columns = {"trg": (0, 1), "src": (1, 0), "none": ()}[sort]
        self._seed = seed
        self._shuffle = shuffle
        self._shuffle_batches = shuffle if shuffle_batches is None else shuffle_batches

    def epoch(self, number: int, start: int = 0) -> Iterator[np.ndarray]:
        """The pairs of each batch of an epoch (from 0), without the first `start` batches."""
        count = len(self._lengths)
        order = self._permutation(count, number, 0) if self._shuffle else np.arange(count)
        for first in range(0, count, self._window):
            pairs = order[first : first + self._window]
            lengths = self._lengths[pairs]
            if self._columns:
                by_length = np.lexsort([lengths[:, column] for column in self._columns])
                pairs, lengths = pairs[by_length], lengths[by_length]
            ends = self._cut(lengths)
            turn = np.arange(len(ends))
            if self._shuffle_batches:
                turn = self._permutation(len(ends), number, 1, first)
            for i in turn[start:]:
                yield pairs[ends[i - 1] if i else 0 : ends[i]]
            start = max(0, start - len(ends))

    def _permutation(self, count: int, *key: int) -> np.ndarray:
        """A random order that is the same with every version of NumPy.

        NumPy guarantees the raw numbers of its bit generators, but not the methods of `Generator`
        (NEP 19).
        """
        raw = np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=key)).random_raw(count)
        return np.argsort(raw, kind="stable")

    def _cut(self, lengths: np.ndarray) -> list[int]:
        """The end of each batch among the sorted pairs."""
        count, fits = len(lengths), self._fits
        if self._words:
            source, target = lengths.T  # of a language model, sources have length 1
            ends, done = [0], np.cumsum(np.where(source > 1, source, target))
            while ends[-1] < count:
                last = done[ends[-1] - 1] if ends[-1] else 0
                ends.append(1 + int(np.searchsorted(done[:-1], last + self._words, "right")))
            return ends[1:]
        if fits is None:
            return [*range(self._sentences, count, self._sentences), count]
        ends = [0]
        guess = 1
        while (first := ends[-1]) < count:
            longest = np.maximum.accumulate(lengths[first : first + guess]).tolist()
            if len(longest) == guess and fits(guess, *longest[-1]) and first + guess < count:
                guess *= 2
                continue
            candidates = range(2, len(longest) + 1)
            taken = 1 + bisect.bisect_left(
                candidates, True, key=lambda n: not fits(n, *longest[n - 1])
            )
            ends.append(first + taken)
            guess = taken + 1
        return ends[1:]


def grid_length(length: int) -> int:
    """The length rounded up to one of few lengths, so that few shapes are compiled.

    Multiples of 8 up to 64, of 16 up to 128, then eight for each doubling: 11 lengths up to 100
    words, 20 up to 256.
    """
    step = 8 if length <= 64 else 16 if length <= 128 else 1 << (length - 1).bit_length() - 4
    return -(-max(length, 1) // step) * step


class Batch(NamedTuple):
    """Sentence pairs, ended by and padded with EOS, as NumPy's arrays or tensors.

    Padding has mask 0, except that a padding row has mask 1 at its first source position, so that
    the mean over its source is not NaN.
    """

    source: np.ndarray  # (B,S,F) int32
    source_mask: np.ndarray  # (B,S) float32
    target: np.ndarray  # (B,T) int32
    target_mask: np.ndarray  # (B,T) float32
    weights: np.ndarray | tuple[()] = ()  # (B,T) float32, factors of words' costs; (): all 1
    alignment: np.ndarray | tuple[()] = ()  # (B,T,S) float32; (): none
    teacher_words: np.ndarray | tuple[()] = ()  # (B,T,K) int32; (): none
    teacher_shares: np.ndarray | tuple[()] = ()  # (B,T,K) float32

    @property
    def sentences(self) -> int:
        """The number of sentences, without padding rows."""
        return int(self.target_mask[:, 0].sum())

    @property
    def words(self) -> int:
        """The number of words of the targets, including EOS, or of labels."""
        return int(self.target_mask.sum())

    def first(self, count: int) -> Self:
        """The batch with only the first sentences; the others become padding."""
        kept = np.arange(len(self.source)) < count
        source_mask = self.source_mask * kept[:, None]
        source_mask[count:, 0] = 1.0
        target_mask = self.target_mask * kept[:, None]
        batch = self._replace(source_mask=source_mask, target_mask=target_mask)
        if isinstance(self.alignment, np.ndarray):
            batch = batch._replace(alignment=self.alignment * kept[:, None, None])
        return batch

    def share(self, place: int, count: int) -> "Batch":
        """Every count-th row, beginning with row `place`, so that all shares have all lengths.

        count: a divisor of the number of rows.
        """
        return Batch._make(field[place::count] for field in self)


def make_batch(
    corpus: Corpus,
    pairs: Sequence[int] | np.ndarray,
    *,
    grid: bool = True,
    rows: int = 0,
    ends: bool = True,
) -> Batch:
    """The batch of these pairs of a corpus, with at least `rows` rows.

    grid: round lengths up by `grid_length`. ends: whether EOS counts as a target word; after labels
    it does not. The alignment of a target word sums to 1 over source words, or is 0 without points.
    """
    columns, lengths = corpus.columns, corpus.lengths[pairs]
    longest = [int(n) for n in lengths.max(axis=0)]
    if grid:
        longest = [grid_length(n) for n in longest]
    rows = max(rows, len(lengths))
    source, target = ((rows, length) for length in longest)
    source_mask = within(lengths[:, 0], source)
    source_mask[len(lengths) :, 0] = True
    words = within(lengths[:, 1], target)
    batch = Batch(
        columns["source"].padded(pairs, source, np.int32(EOS_ID)),
        source_mask.astype(np.float32),
        columns["target"].padded(pairs, target, np.int32(EOS_ID)),
        (words if ends else within(lengths[:, 1] - 1, target)).astype(np.float32),
    )
    if "weights" in columns:
        weights = columns["weights"].padded(pairs, target, np.float32(1))
        if columns["weights"].lengths(pairs).max() == 1:  # those of sentences
            weights = np.where(words, weights[:, :1], np.float32(1))
        batch = batch._replace(weights=weights)
    if "alignment" in columns:
        points = columns["alignment"]
        row = np.repeat(np.arange(len(lengths)), points.lengths(pairs))
        source_place, target_place = points.joined(pairs).T
        matrix = np.zeros((*target, longest[0]), np.float32)
        matrix[row, target_place, source_place] = 1.0
        sums = np.maximum(matrix.sum(axis=-1, keepdims=True), 1.0)
        batch = batch._replace(alignment=matrix / sums)
    if "teacher" in columns:
        teacher = columns["teacher"]
        shape = *target, teacher.values.shape[1]
        taught, shares = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        rows_of_words = teacher.joined(pairs)
        if corpus.right_left:  # the file has them in the order of the text
            rows_of_words = rows_of_words[from_the_end(lengths[:, 1])]
        taught[words], shares[words] = words_and_shares(rows_of_words)
        batch = batch._replace(teacher_words=taught, teacher_shares=shares)
    return batch
