"""What a training reads: texts, vocabularies, and the batches that are made of them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import manifest
from .batching import Batch, Batches, BatchSize, make_batch, padded
from .corpus import Corpus, encode_corpus
from .dropout import Rates, masks
from .encoding import Beside
from .errors import CgruError, UsageError
from .model_file import PREPROCESSING
from .source_reader import source_ids
from .structure import Normalization, Structure
from .train_options import TrainOptions
from .vocabulary import Vocabulary
from .vocabulary_files import read_vocabulary

PREPARED = "preprocess.json"  # in a folder that `cgru prep` made


@dataclass(frozen=True)
class Texts:
    """The files of a training."""

    sources: tuple[Path, ...]  # () of a language model
    targets: tuple[Path, ...]
    vocabularies: tuple[Path, ...]  # sources (one a factor), then target; () for the model's own
    dev: tuple[Path | None, Path] | None = None
    reference: Path | None = None
    preprocessing: Path | None = None
    beside: Beside = field(default_factory=Beside)

    @classmethod
    def of(cls, options: TrainOptions, folder: str | None) -> Texts:
        """The files that the options name; what they do not, from a prepared folder.

        Raises UsageError where files are missing from the command, CgruError from the folder.
        """
        prepared = _prepared(Path(folder)) if folder else None
        read = _of_one_side if options.type == "lm" else cls._of_two_sides
        return _with_beside(read(options, prepared), options).readable()

    @classmethod
    def _of_two_sides(cls, options: TrainOptions, prepared: Texts | None) -> Texts:
        o = options
        train = _named("--train-sets", o.train_sets, o.source_dataset, o.target_dataset)
        if len(train) % 2:
            raise UsageError(
                f"--train-sets: {len(train)} files; as many sources as targets expected"
            )
        sources, targets = train[: len(train) // 2], train[len(train) // 2 :]
        if not sources:
            if prepared is None:
                raise UsageError("name the text: cgru train DATA, or --train-sets SRC TRG")
            sources, targets = prepared.sources, prepared.targets
        vocabularies = tuple(map(Path, options.vocabularies))
        if prepared is not None:
            vocabularies = vocabularies or prepared.vocabularies
        if not vocabularies and not options.begins_from:
            raise UsageError("name the vocabularies: -v SRC TRG (`cgru prep` makes them)")
        if len(vocabularies) == 1:
            vocabularies *= 2
        dev, reference = (prepared.dev, prepared.reference) if prepared else (None, None)
        if valid := _named(
            "--valid-sets", o.valid_sets, o.valid_source_dataset, o.valid_target_dataset
        ):
            if len(valid) != 2:
                raise UsageError("--valid-sets: a source and a target file are expected")
            dev, reference = valid, None
        if options.valid_reference:
            reference = Path(options.valid_reference)
        if reference and dev is None:
            raise UsageError("--valid-reference: name the text to validate on with --valid-sets")
        preprocessing = prepared and prepared.preprocessing
        if options.begins_from and preprocessing is None:
            beside = Path(f"{options.begins_from}{PREPROCESSING}")
            preprocessing = beside if beside.is_file() else None
        return cls(sources, targets, vocabularies, dev, reference, preprocessing)

    def readable(self) -> Texts:
        """Itself. Raises CgruError where a text cannot be read."""
        train = (*self.sources, *self.targets, *self.beside.alignments, *self.beside.weights)
        for path in filter(None, (*train, *(self.dev or ()), self.reference)):
            _check_readable(path)
        return self


def _of_one_side(options: TrainOptions, prepared: Texts | None) -> Texts:
    """The files of a language model's training: of a prepared folder, the target's."""
    for name in ("source_dataset", "valid_source_dataset", "valid_reference"):
        if getattr(options, name):
            raise UsageError(f"{_flag(name)}: a language model reads no source and translates none")
    if prepared is None:
        prepared = Texts((), (), ())
    targets = tuple(map(Path, options.train_sets or filter(None, (options.target_dataset,))))
    vocabularies = tuple(map(Path, options.vocabularies)) or prepared.vocabularies[-1:]
    valid = options.valid_sets or tuple(filter(None, (options.valid_target_dataset,)))
    if len(vocabularies) > 1 or len(valid) > 1:
        raise UsageError("a language model has one vocabulary, and one text to validate on")
    targets = targets or prepared.targets
    if not targets:
        raise UsageError("name the text: cgru train DATA --type lm, or --train-sets TEXT")
    if not vocabularies and not options.begins_from:
        raise UsageError("name the vocabulary: -v VOCAB (`cgru prep` makes one)")
    dev = (None, Path(valid[0])) if valid else prepared.dev and (None, prepared.dev[1])
    return Texts((), targets, vocabularies, dev, None, prepared.preprocessing)


def _with_beside(texts: Texts, options: TrainOptions) -> Texts:
    """The files with their alignments and weights, those of domains that weigh nothing left out."""
    o, count = options, len(texts.targets)
    beside = {
        "guided_alignment": o.alignments,
        "data_weighting": o.data_weighting,
        "domain_weights": o.domain_weights,
    }
    for name, values in beside.items():
        if values and len(values) != count:
            raise UsageError(
                f"{_flag(name)}: {len(values)} given; one is expected for each training text, "
                f"of which there are {count}"
            )
    if min(o.domain_weights, default=0) < 0 or not any(o.domain_weights or (1,)):
        raise UsageError("--domain-weights: none may be negative, and not all may be 0")
    kept = [weight != 0 for weight in o.domain_weights or [1] * count]

    def of_kept(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(itertools.compress(values, kept))

    return dataclasses.replace(
        texts,
        sources=of_kept(texts.sources),
        targets=of_kept(texts.targets),
        beside=Beside(
            of_kept([Path(name) for name in o.alignments]),
            of_kept([Path(name) for name in o.data_weighting]),
            o.data_weighting_type == "word",
            of_kept(o.domain_weights),
            o.right_left,
        ),
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _named(
    option: str, together: Sequence[str], source: str | None, target: str | None
) -> tuple[Path, ...]:
    """Files that one option names, or two more, one for each side."""
    if source is None and target is None:
        return tuple(map(Path, together))
    if together or source is None or target is None:
        each = "--" if option == "--train-sets" else "--valid-"
        raise UsageError(
            f"{each}source-dataset and {each}target-dataset go together, and without {option}"
        )
    return Path(source), Path(target)


def _prepared(folder: Path) -> Texts:
    """The files of a folder that `cgru prep` made."""

    def there(*names: str) -> Path | None:
        return next((folder / name for name in names if (folder / name).is_file()), None)

    if not folder.is_dir():
        raise CgruError(f"{folder}: no such folder; `cgru prep {folder} ...` makes one")
    if there(manifest.FILE) is None:
        raise CgruError(
            f"{folder}: no {manifest.FILE}, with which `cgru prep` ends; if it made this folder, "
            "the same command of it finishes it"
        )
    needed = {
        "train.src": there("train.src"),
        "train.trg": there("train.trg"),
        "vocab.src.json": there("vocab.src.json", "vocab.src.spm", "vocab.json", "vocab.spm"),
        "vocab.trg.json": there("vocab.trg.json", "vocab.trg.spm", "vocab.json", "vocab.spm"),
    }
    for name, found in needed.items():
        if found is None:
            raise CgruError(f"{folder}: no {name}, which `cgru prep` made; run it again")
    source, target, *vocabularies = needed.values()
    factors = sorted(folder.glob("vocab.factor*.json"))
    dev = there("dev.src", "dev1.src"), there("dev.trg", "dev1.trg")
    return Texts(
        (source,),
        (target,),
        (vocabularies[0], *factors, vocabularies[1]),
        dev if all(dev) else None,
        there("dev.ref", "dev1.ref"),
        there(PREPARED),
    )


def _check_readable(path: Path) -> None:
    """Raises CgruError for a text that cannot be read, before anything is done with others."""
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None


def read_vocabularies(texts: Texts, limits: Sequence[int]) -> list[Vocabulary]:
    """Source vocabularies (one a factor), then the target's.

    limits: words taken of each, 0 for all. Raises CgruError for what is no vocabulary, or ends
    sentences by another id than 0, which all models of this family do.
    """
    count = len(texts.vocabularies)
    if limits and len(limits) != count:
        raise UsageError(f"--dim-vocabs: {len(limits)} numbers for {count} vocabularies")
    if min(limits, default=0) < 0:
        raise UsageError("--dim-vocabs: numbers of words are expected, 0 for all")
    read = {path: read_vocabulary(path) for path in dict.fromkeys(texts.vocabularies)}
    found = []
    for path, limit in zip(texts.vocabularies, limits or [0] * count, strict=True):
        check_eos(read[path])
        found.append(read[path].limited(limit) if limit else read[path])
    return found


def check_eos(vocabulary: Vocabulary) -> None:
    """Raises CgruError for a vocabulary that ends sentences by another id than 0."""
    if vocabulary.eos_id != 0:
        raise CgruError(
            f"{vocabulary.path}: ends sentences by id {vocabulary.eos_id}; id 0 is needed "
            "(spm_train --eos_id=0 --unk_id=1 --bos_id=-1)"
        )


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
class Data:
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
    ) -> Data:
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
            rows = padded(pairs)
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
