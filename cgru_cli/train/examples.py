"""The training examples: batches of the corpus, with their dropout."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..corpus.batches import Batch, Batches, Fits, grid_length, make_batch
from ..corpus.corpus import Corpus
from ..corpus.dropout import Rates, masks
from ..options.train import TrainOptions
from ..parameters.structure import Structure
from .memory import memory_of_batch

if TYPE_CHECKING:
    from ..optimization.minimum_risk import Sampler
    from ..optimization.replicas import Replicas
    from ..optimization.step import Share


MOST_SENTENCES = 1 << 16  # of a batch
WARMUP_WORDS = 256  # minimum number of target words in a mini-batch
ALMOST_WHOLE = 0.8  # share of the warm-up after which mini-batches have their full size


class Example(NamedTuple):
    """A batch and its dropout masks."""

    batch: Batch
    masks: Mapping[str, np.ndarray]

    def share(self, place: int, count: int) -> Example:
        if count == 1:
            return self
        masks = {name: mask[place::count] for name, mask in self.masks.items()}
        return Example(self.batch.share(place, count), masks)


def what_fits(options: TrainOptions, structure: Structure, devices: int = 1) -> Fits | None:
    """The limits of a batch shared by `devices`; None if only `--mini-batch` limits the batch.

    `--mini-batch-words` limits the sentences times the longest side, with EOS except in Nematus'
    --token_batch_size. With `--compat marian`, `Batches` counts the words itself instead.
    """
    if options.mini_batch_fit:
        budget = options.workspace * 2**20 * devices
        return lambda b, s, t: memory_of_batch(structure, b, s, t) <= budget
    if options.mini_batch_words:
        ends = (options.compat or "").startswith("nematus")
        return lambda b, s, t: b * (max(s, t) - ends) <= options.mini_batch_words
    return None


class EpochExamples:
    """Batches with their dropout, in an order that depends only on seed and position.

    grid: whether to pad shapes to a few sizes, for compiled code; devices: the number of rows of a
    batch is a multiple of this.
    """

    def __init__(
        self,
        corpus: Corpus,
        structure: Structure,
        options: TrainOptions,
        *,
        grid: bool,
        devices: int = 1,
    ):
        self.corpus, self.structure, self.seed = corpus, structure, options.seed
        self.grid, self.devices, self.sentences = grid, devices, options.mini_batch
        self.most: dict[tuple[int, int], int] = {}  # see `_most`
        self.dropout = Rates(*(getattr(options, f"dropout_{name}") for name in Rates._fields[:-1]))
        if options.compat == "marian":
            self.dropout = self.dropout._replace(hidden=0.0, cells=options.dropout_hidden)
        self.fits = fits = what_fits(options, structure, devices)
        if fits and grid:
            fits = functools.partial(self._fits, fits)
        self.batches = functools.partial(
            Batches,
            sentences=self.sentences,
            fits=fits,
            words=options.mini_batch_words if options.compat == "marian" else 0,
            maxi_batch=options.maxi_batch,
            sort=options.maxi_batch_sort,
            seed=options.seed,
            shuffle=not options.no_shuffle,
            shuffle_batches=not options.no_shuffle or options.shuffle_batches,
        )

    def epoch(self, number: int, start: int) -> Iterator[Example]:
        """The batches of an epoch (from 0), beginning with batch number `start`."""
        dropping, corpus = any(self.dropout), self.corpus.of_epoch(number)
        batches = self.batches(corpus.lengths).epoch(number, start)
        for place, pairs in enumerate(batches, start):
            lengths = corpus.lengths[pairs]
            rows, ends = self._rows(pairs, lengths), self.structure.type.writes_text
            batch = make_batch(corpus, pairs, grid=self.grid, rows=rows, ends=ends)
            yield Example(batch, self._masks(batch, lengths, number, place) if dropping else {})

    def _fits(self, fits: Fits, sentences: int, source: int, target: int) -> bool:
        """Whether so many sentences with these longest sides fit into a batch on the grid."""
        return sentences <= self._most(fits, grid_length(source), grid_length(target))

    def _most(self, fits: Fits, source: int, target: int) -> int:
        """The sentences of a whole batch with these padded lengths, which have one shape.

        If possible a multiple of 8, for which GPUs multiply faster.
        """
        shape = source, target
        if shape not in self.most:
            fitting = bisect.bisect_left(
                range(1, MOST_SENTENCES), True, key=lambda n: not fits(n, source, target)
            )
            self.most[shape] = fitting if fitting < 8 else fitting // 8 * 8
        return self.most[shape]

    def _rows(self, pairs: Sequence[int] | np.ndarray, lengths: np.ndarray) -> int:
        """The rows of a batch; on a grid, those of a whole batch."""
        if not self.grid:
            rows = len(pairs)
        elif self.fits is None:
            rows = min(grid_length(len(pairs)), self.sentences)
        else:
            longest = map(grid_length, lengths.max(axis=0).tolist())
            rows = max(len(pairs), self._most(self.fits, *longest))
        return -(-rows // self.devices) * self.devices

    def _masks(
        self, batch: Batch, lengths: np.ndarray, number: int, place: int
    ) -> dict[str, np.ndarray]:
        """The dropout masks of a batch, 1 at padding so that padding changes no other number."""
        key = np.random.SeedSequence(self.seed, spawn_key=(2, number, place))
        source, target = lengths.max(axis=0)
        drawn = masks(
            self.structure,
            self.dropout,
            np.random.Generator(np.random.PCG64(key)),
            sentences=len(lengths),
            source_length=int(source),
            target_length=int(target),
        )
        widths = {"source": batch.source.shape[1], "target": batch.target.shape[1]}
        padded = {}
        for name, mask in drawn.items():
            more = len(batch.source) - len(mask), widths.get(name, mask.shape[1]) - mask.shape[1]
            padded[name] = np.pad(mask, [(0, count) for count in more], constant_values=1.0)
        return padded


def groups(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    """Group examples by update; the last group of an epoch may be smaller."""
    while group := list(itertools.islice(examples, size)):
        yield group


def warmed_up(group: list[Example], share: float) -> list[Example]:
    """Mini-batches with this share of their pairs, as in Marian's --mini-batch-warmup."""
    if share >= ALMOST_WHOLE:
        return group
    shorter = []
    for example in group:
        batch = example.batch
        least = 1 + (WARMUP_WORDS * batch.sentences - 1) // batch.words
        count = max(math.ceil(share * batch.sentences), least)
        shorter.append(example._replace(batch=batch.first(min(count, batch.sentences))))
    return shorter


def device_shares(
    group: Sequence[Example], replicas: Replicas, sampler: Sampler | None, first: int
) -> list[Sequence[Share]]:
    """The shares of each batch for this process' devices, in the form that the objective takes.

    The sampler of minimum risk training may divide a batch into several. first: the number of the
    first pair, counted over all epochs; seeds the samples.
    """
    batches: list[Sequence[Share]] = []
    for example in group:
        sentences = example.batch.sentences
        shares: list[Sequence[Share]] = []
        for place in range(replicas.first, replicas.first + replicas.here):
            batch, masks = example.share(place, replicas.count)
            if sampler:
                numbers = range(first + place, first + sentences, replicas.count)
                rows = -(-sentences // replicas.count)
                shares.append(sampler(batch, masks, numbers, rows))
            else:
                shares.append([(batch, masks)])
        batches += zip(*shares, strict=True)
        first += sentences
    return batches


def size_of(group: Sequence[Example]) -> tuple[int, int]:
    """The number of sentences and of target words in some batches."""
    batches = [example.batch for example in group]
    return sum(batch.sentences for batch in batches), sum(batch.words for batch in batches)
