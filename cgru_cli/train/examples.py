"""The examples of a training: texts as ids, and the batches made of them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..corpus.batches import Batch, Batches, BatchSize, LengthSort, grid_length, make_batch
from ..corpus.corpus import Corpus, encode_corpus
from ..corpus.dropout import Rates, masks
from ..errors import CgruError
from ..parameters.structure import Normalization, Structure, Type
from ..system.lines import tokens
from ..text.conditions import condition_columns
from ..text.labels import check_tags, label_ids
from ..text.source_words import source_columns
from ..text.vocabulary import Vocabulary
from .texts import Texts


def encode(
    texts: Texts,
    vocabularies: Sequence[Vocabulary],
    cache: Path,
    spare: Path | None = None,
    *,
    kind: Type = Type.CGRU,
    condition: int = 0,
    source_reversed: bool = False,
    max_length: int,
    crop: bool,
) -> Corpus:
    """The training text as ids, kept in a folder, as `encode_corpus` does it.

    kind: of the model, which says whether the target is text or labels. condition: how many labels
    or numbers the source is of, where it is no text. source_reversed: whether
    it reads from the end. max_length: words of a sentence; longer pairs are left out, or cut
    (crop).
    """
    *sources, target = vocabularies
    key = " ".join(vocabulary.fingerprint for vocabulary in vocabularies)
    beside = texts.beside
    if source_reversed:
        beside = dataclasses.replace(beside, from_end=False, both_from_end=True)
    from_end = beside.from_end
    direction = -1 if from_end else 1
    key += " right-left" * from_end + f" {kind}" * (not kind.writes_text)
    key += f" condition {condition}" * bool(condition)

    def encode_source(line: str) -> list[tuple[int, ...]]:
        if condition:
            return condition_columns(line, sources, condition)
        return source_columns(line, sources, starts=kind is Type.TAGGER)

    if kind.writes_text:

        def encode_target(line: str) -> list[int]:
            return target.encode(target.tokenize(line))[::direction]
    else:

        def encode_target(line: str) -> list[int]:
            return label_ids(tokens(line), target, one=kind is Type.CLASSIFIER)

    try:
        return encode_corpus(
            texts.sources,
            texts.targets,
            encode_source,
            encode_target,
            cache,
            max_length=max_length,
            crop=crop,
            key=key,
            beside=beside,
            spare=spare,
            check_pair=check_tags if kind is Type.TAGGER else None,
        )
    except CgruError:
        with contextlib.suppress(OSError):  # not empty: of another text
            (spare or cache).rmdir()
        raise


@dataclass(frozen=True)
class Batching:
    """The size of batches, their order, and their dropout."""

    sentences: int = 80  # of a batch, or at most, where words or memory limit it
    words: int = 0  # limit of pairs times the longest side; 0: none
    memory: int = 0  # limit of bytes on each device, beside model and optimizer; 0: none
    maxi_batch: int = 100  # batches' worth of pairs that are sorted by length together
    sort: LengthSort = "trg"  # what they are sorted by
    shuffle: bool = True
    seed: int = 1
    dropout: Rates = field(default_factory=Rates)

    def size(self, structure: Structure, devices: int = 1) -> BatchSize:
        """The size of a batch that so many devices share."""
        if self.memory:
            budget = self.memory * devices
            return BatchSize(
                "fit",
                self.sentences,
                cost=lambda b, s, t: memory_of_batch(structure, b, s, t) / budget,
            )
        if self.words:
            return BatchSize("words", self.sentences, self.words)
        return BatchSize("sentences", self.sentences)


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
    batching: Batching
    size: BatchSize
    batches: Batches
    grid: bool  # whether shapes are padded to few different ones, for compiled code
    devices: int = 1  # that rows can be divided by

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        structure: Structure,
        batching: Batching,
        *,
        grid: bool,
        devices: int = 1,
    ) -> EpochExamples:
        size = batching.size(structure, devices)
        batches = Batches(
            corpus.lengths,
            size,
            maxi_batch=batching.maxi_batch,
            sort=batching.sort,
            seed=batching.seed,
            shuffle=batching.shuffle,
        )
        return cls(corpus, structure, batching, size, batches, grid, devices)

    def epoch(self, number: int, start: int) -> Iterator[Example]:
        """The batches of an epoch (from 0), from the start-th on."""
        dropping = any(self.batching.dropout)
        for place, pairs in enumerate(self.batches.epoch(number, start), start):
            batch = make_batch(
                self.corpus, pairs, grid=self.grid, rows=self._rows(len(pairs)),
                ends=self.structure.type.writes_text,
            )  # fmt: skip
            yield Example(batch, self._masks(batch, pairs, number, place) if dropping else {})

    def _rows(self, pairs: int) -> int:
        """The number of rows of a batch, padding included."""
        rows = pairs
        if self.grid:
            rows = grid_length(pairs)
            if self.size.kind == "sentences":
                rows = min(rows, self.size.sentences)
        return -(-rows // self.devices) * self.devices

    def _masks(
        self, batch: Batch, pairs: np.ndarray, number: int, place: int
    ) -> dict[str, np.ndarray]:
        """Masks of a batch; what pads has 1, so that padding changes no other number."""
        key = np.random.SeedSequence(self.batching.seed, spawn_key=(2, number, place))
        source, target = self.corpus.lengths[pairs].max(axis=0)
        drawn = masks(
            self.structure,
            self.batching.dropout,
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
    if not s.type.writes_text:  # what is read out is there
        words = 0
    positions = source * (9 * levels * s.state + 2 * s.context + sum(s.source_embeddings))
    kept = (words + positions) * (1 if s.normalization is Normalization.NONE else 1.5)
    attention = 3 * source * s.context  # of one step
    logits = target * s.target_vocabulary
    return 4.0 * sentences * (kept + max(2 * logits, kept + attention))
