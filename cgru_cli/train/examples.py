"""What a training learns from: texts as ids, and the batches that are made of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..corpus.batches import Batch, Batches, BatchSize, grid_length, make_batch
from ..corpus.corpus import Corpus, encode_corpus
from ..corpus.dropout import Rates, masks
from ..errors import CgruError
from ..options.train import TrainOptions
from ..parameters.structure import Normalization, Structure
from ..text.source_words import source_ids
from ..text.vocabulary import Vocabulary
from .texts import Texts


def encode(
    texts: Texts,
    vocabularies: Sequence[Vocabulary],
    options: TrainOptions,
    cache: Path,
    spare: Path | None = None,
) -> Corpus:
    """The training text as ids, kept in a folder, as `encode_corpus` does it."""
    *sources, target = vocabularies
    key = " ".join(vocabulary.fingerprint for vocabulary in vocabularies)
    direction = -1 if options.right_left else 1
    key += " right-left" * options.right_left
    try:
        return encode_corpus(
            texts.sources,
            texts.targets,
            lambda line: source_ids(sources[0].tokenize(line), sources),
            lambda line: target.encode(target.tokenize(line))[::direction],
            cache,
            max_length=options.max_length,
            crop=options.max_length_crop,
            key=key,
            beside=texts.beside,
            spare=spare,
        )
    except CgruError:
        with contextlib.suppress(OSError):  # not empty: of another text
            (spare or cache).rmdir()
        raise


class Example(NamedTuple):
    """A batch and the dropout masks that go with it."""

    batch: Batch
    masks: Mapping[str, np.ndarray]

    def share(self, place: int, count: int) -> Example:
        """See `Batch.share`."""
        if count == 1:
            return self
        masks = {name: mask[place::count] for name, mask in self.masks.items()}
        return Example(self.batch.share(place, count), masks)


@dataclass(frozen=True)
class EpochExamples:
    """Batches with their dropout, in an order that follows from seed and position alone."""

    corpus: Corpus
    structure: Structure
    rates: Rates
    size: BatchSize
    batches: Batches
    seed: int
    grid: bool  # whether shapes are padded to few different ones, for compiled code
    shares: int = 1  # that rows can be divided by

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        structure: Structure,
        options: TrainOptions,
        grid: bool,
        shares: int = 1,
    ) -> EpochExamples:
        """As the options of batches and dropout say."""
        rates = Rates(
            options.dropout_embedding,
            options.dropout_hidden,
            options.dropout_source,
            options.dropout_target,
            options.dropout_annotation,
            options.dropout_output,
        )
        size = batch_size(options, structure, shares)
        batches = Batches(
            corpus.lengths,
            size,
            maxi_batch=options.maxi_batch,
            sort=options.maxi_batch_sort,
            seed=options.seed,
            shuffle=not options.no_shuffle,
        )
        return cls(corpus, structure, rates, size, batches, options.seed, grid, shares)

    def epoch(self, number: int, start: int) -> Iterator[Example]:
        """The batches of an epoch (from 0), from the start-th on."""
        dropping = any(self.rates[:-1]) or bool(self.rates.output)
        for place, pairs in enumerate(self.batches.epoch(number, start), start):
            batch = make_batch(self.corpus, pairs, grid=self.grid, rows=self._rows(len(pairs)))
            yield Example(batch, self._masks(batch, pairs, number, place) if dropping else {})

    def _rows(self, pairs: int) -> int:
        """Rows of a batch; on the grid, no more than whole batches have anyway."""
        rows = pairs
        if self.grid:
            rows = grid_length(pairs)
            if self.size.kind == "sentences":
                rows = min(rows, self.size.sentences)
        return -(-rows // self.shares) * self.shares

    def _masks(
        self, batch: Batch, pairs: np.ndarray, number: int, place: int
    ) -> dict[str, np.ndarray]:
        """Masks of a batch; what pads has 1, so that padding changes no other number."""
        key = np.random.SeedSequence(self.seed, spawn_key=(2, number, place))
        source, target = self.corpus.lengths[pairs].max(axis=0)
        drawn = masks(
            self.structure,
            self.rates,
            np.random.Generator(np.random.PCG64(key)),
            len(pairs),
            int(source),
            int(target),
        )
        rows = len(batch.source)
        widths = {"source": batch.source.shape[1], "target": batch.target.shape[1]}
        return {
            name: np.pad(
                mask,
                ((0, rows - len(mask)), (0, widths.get(name, mask.shape[1]) - mask.shape[1])),
                constant_values=1.0,
            )
            for name, mask in drawn.items()
        }


def groups(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    """Examples in groups of one update each; the last of an epoch may be smaller."""
    group: list[Example] = []
    for example in examples:
        group.append(example)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def batch_size(options: TrainOptions, structure: Structure, shares: int = 1) -> BatchSize:
    """How many pairs a batch takes; shares: the devices that compute one together."""
    if options.mini_batch_fit:
        budget = options.workspace * 2**20 * shares
        return BatchSize(
            "fit",
            options.mini_batch,
            cost=lambda b, s, t: memory_of_batch(structure, b, s, t) / budget,
        )
    if options.mini_batch_words:
        return BatchSize("words", options.mini_batch, options.mini_batch_words)
    return BatchSize("sentences", options.mini_batch)


def memory_of_batch(structure: Structure, sentences: int, source: int, target: int) -> float:
    """Bytes that a training step takes for a batch beside the model, roughly.

    The most is either when the words have been read out, the logits and what is made of them
    beside what the scan has kept of each step; or at the end of the scan back, which keeps as
    much again. With layer normalization both keep half as much more.
    """
    s = structure
    levels = s.encoder_depth * s.encoder_transition
    cells = s.decoder_base_transition + (s.decoder_depth - 1) * s.decoder_high_transition
    words = target * ((8 * cells + 4) * s.state + 4 * s.target_embedding)
    positions = source * (9 * levels * s.state + 2 * s.context + sum(s.source_embeddings))
    kept = (words + positions) * (1 if s.normalization is Normalization.NONE else 1.5)
    attention = 3 * source * s.context  # of one step
    logits = target * s.target_vocabulary
    return 4.0 * sentences * (kept + max(2 * logits, kept + attention))
