"""What a training reads: texts, vocabularies, and the batches that are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .batching import Batch, Batches, BatchSize, make_batch
from .corpus import Corpus, encode_corpus
from .dropout import Rates, masks
from .errors import CgruError, UsageError
from .structure import Structure
from .train_options import TrainOptions
from .translator import source_ids
from .vocabulary import Vocabulary, read_vocabulary

PREPROCESSING = "preprocess.json"  # of a folder that `cgru prep` made


@dataclass(frozen=True)
class Texts:
    """The files of a training."""

    sources: tuple[Path, ...]
    targets: tuple[Path, ...]
    vocabularies: tuple[Path, ...]  # sources (one a factor), then target
    dev: tuple[Path, Path] | None = None
    reference: Path | None = None
    preprocessing: Path | None = None

    @classmethod
    def of(cls, options: TrainOptions, folder: str | None) -> Texts:
        """The files that the options name; what they do not, from a prepared folder.

        Raises UsageError where files are missing from the command, CgruError from the folder.
        """
        prepared = _prepared(Path(folder)) if folder else None
        sources, targets = _train_sets(options)
        if not sources:
            if prepared is None:
                raise UsageError("name the text: cgru train DATA, or --train-sets SRC TRG")
            sources, targets = prepared.sources, prepared.targets
        vocabularies = tuple(map(Path, options.vocabularies))
        if not vocabularies:
            if prepared is None:
                raise UsageError("name the vocabularies: -v SRC TRG (`cgru prep` makes them)")
            vocabularies = prepared.vocabularies
        if len(vocabularies) == 1:
            vocabularies *= 2
        dev, reference = (prepared.dev, prepared.reference) if prepared else (None, None)
        if options.valid_sets:
            if len(options.valid_sets) != 2:
                raise UsageError("--valid-sets: a source and a target file are expected")
            source, target = map(Path, options.valid_sets)
            dev, reference = (source, target), None
        if options.valid_reference:
            reference = Path(options.valid_reference)
        preprocessing = prepared.preprocessing if prepared else None
        return cls(sources, targets, vocabularies, dev, reference, preprocessing)


def _train_sets(options: TrainOptions) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    named = tuple(map(Path, options.train_sets))
    by_side = (options.source_dataset, options.target_dataset)
    if any(by_side):
        if named or not all(by_side):
            raise UsageError(
                "--source-dataset and --target-dataset go together, and without --train-sets"
            )
        named = tuple(map(Path, by_side))
    if len(named) % 2:
        raise UsageError(f"--train-sets: {len(named)} files; as many sources as targets expected")
    half = len(named) // 2
    return named[:half], named[half:]


def _prepared(folder: Path) -> Texts:
    """The files of a folder that `cgru prep` made."""

    def there(*names: str) -> Path | None:
        return next((folder / name for name in names if (folder / name).is_file()), None)

    if not folder.is_dir():
        raise CgruError(f"{folder}: no such folder; `cgru prep {folder} ...` makes one")
    needed = {
        "train.src": there("train.src"),
        "train.trg": there("train.trg"),
        "vocab.src.json": there("vocab.src.json", "vocab.src.spm", "vocab.json", "vocab.spm"),
        "vocab.trg.json": there("vocab.trg.json", "vocab.trg.spm", "vocab.json", "vocab.spm"),
    }
    for name, found in needed.items():
        if found is None:
            raise CgruError(f"{folder}: no {name}; is it a folder that `cgru prep` made?")
    source, target, *vocabularies = needed.values()
    factors = sorted(folder.glob("vocab.factor*.json"))
    dev = there("dev.src", "dev1.src"), there("dev.trg", "dev1.trg")
    return Texts(
        (source,),
        (target,),
        (vocabularies[0], *factors, vocabularies[1]),
        dev if all(dev) else None,
        there("dev.ref", "dev1.ref"),
        there(PREPROCESSING),
    )


def read_vocabularies(texts: Texts, limits: Sequence[int]) -> list[Vocabulary]:
    """Source vocabularies (one a factor), then the target's.

    limits: words taken of each, 0 for all. Raises CgruError for what is no vocabulary, or ends
    sentences by another id than 0, which all models of this family do.
    """
    if limits and len(limits) != len(texts.vocabularies):
        raise UsageError(
            f"--dim-vocabs: {len(limits)} numbers for {len(texts.vocabularies)} vocabularies"
        )
    read = {path: read_vocabulary(path) for path in dict.fromkeys(texts.vocabularies)}
    found = []
    for path, limit in zip(texts.vocabularies, limits or [0] * len(read) * 2, strict=False):
        vocabulary = read[path]
        if vocabulary.eos_id != 0:
            raise CgruError(
                f"{path}: ends sentences by id {vocabulary.eos_id}; id 0 is needed "
                "(spm_train --eos_id=0 --unk_id=1 --bos_id=-1)"
            )
        found.append(vocabulary.limited(limit) if limit else vocabulary)
    return found


def encode(
    texts: Texts, vocabularies: Sequence[Vocabulary], options: TrainOptions, cache: Path, report
) -> Corpus:
    """The training text as ids. Raises CgruError as `encode_corpus` does."""
    *sources, target = vocabularies
    key = " ".join(vocabulary.fingerprint for vocabulary in vocabularies)
    return encode_corpus(
        texts.sources,
        texts.targets,
        lambda line: source_ids(sources[0].tokenize(line), sources),
        lambda line: target.encode(target.tokenize(line)),
        cache,
        max_length=options.max_length,
        crop=options.max_length_crop,
        key=key,
        report=report,
    )


class Example(NamedTuple):
    """A batch and the dropout masks that go with it."""

    batch: Batch
    masks: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Batches with their dropout, in an order that follows from seed and position alone."""

    corpus: Corpus
    structure: Structure
    rates: Rates
    batches: Batches
    seed: int
    grid: bool  # whether shapes are padded to few different ones, for compiled code

    @classmethod
    def of(cls, corpus: Corpus, structure: Structure, options: TrainOptions, grid: bool) -> Data:
        """As the options of batches and dropout say."""
        rates = Rates(
            options.dropout_embedding,
            options.dropout_hidden,
            options.dropout_source,
            options.dropout_target,
            options.dropout_annotation,
            options.dropout_output,
        )
        for name, rate in rates._asdict().items():
            if not 0 <= (rate or 0.0) < 1:
                raise UsageError(f"--dropout-{name} {rate}: 0 <= P < 1 is expected")
        batches = Batches(
            corpus.lengths,
            batch_size(options, structure),
            maxi_batch=options.maxi_batch,
            sort=options.maxi_batch_sort,
            seed=options.seed,
            shuffle=not options.no_shuffle,
        )
        return cls(corpus, structure, rates, batches, options.seed, grid)

    def epoch(self, number: int, start: int) -> Iterator[Example]:
        """The batches of an epoch (from 0), from the start-th on."""
        for place, pairs in enumerate(self.batches.epoch(number, start), start):
            batch = make_batch(self.corpus, pairs, grid=self.grid)
            if not any(self.rates[:-1]) and not self.rates.output:
                yield Example(batch, {})
                continue
            key = np.random.SeedSequence(self.seed, spawn_key=(2, number, place))
            rows, source = batch.source_mask.shape
            yield Example(
                batch,
                masks(
                    self.structure,
                    self.rates,
                    np.random.Generator(np.random.PCG64(key)),
                    rows,
                    source,
                    batch.target.shape[1],
                ),
            )


def batch_size(options: TrainOptions, structure: Structure) -> BatchSize:
    """How many pairs a batch takes."""
    if options.mini_batch_fit and options.mini_batch_words:
        raise UsageError("--mini-batch-fit and --mini-batch-words exclude each other")
    for name in ("mini_batch", "maxi_batch", "max_length", "workspace"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1")
    if options.mini_batch_fit:
        budget = options.workspace * 2**20
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

    Logits, their softmax and their gradient; what the scan keeps of the decoder's and encoder's
    steps and their gradients; the attention's hidden layer of one step.
    """
    s = structure
    levels = s.encoder_depth * s.encoder_transition
    cells = s.decoder_base_transition + (s.decoder_depth - 1) * s.decoder_high_transition
    words = target * (3 * s.target_vocabulary + (16 * cells + 8) * s.state + 8 * s.target_embedding)
    positions = source * (18 * levels * s.state + 3 * s.context + 2 * sum(s.source_embeddings))
    attention = 3 * source * s.context
    return 4.0 * sentences * (words + positions + attention)


def new_structure(options: TrainOptions, vocabularies: Sequence[Vocabulary]) -> Structure:
    """The structure that the options describe. Raises UsageError for one that cannot be."""
    from .structure import Activation, Normalization

    *sources, target = (vocabulary.size for vocabulary in vocabularies)
    widths = options.dim_factors or ((options.dim_emb,) if len(sources) == 1 else ())
    if len(widths) != len(sources) or sum(widths) != options.dim_emb:
        raise UsageError(
            f"--dim-factors: {len(sources)} widths that add up to --dim-emb {options.dim_emb} "
            "are needed"
        )
    if options.dec_cell_base_depth < 2:
        raise UsageError("--dec-cell-base-depth: the conditional GRU has at least 2 cells")
    for name in (
        "dim_emb", "dim_rnn", "enc_depth", "enc_cell_depth", "dec_depth", "dec_cell_high_depth",
        "mixture",
    ):  # fmt: skip
        if getattr(options, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1")
    shared = options.tied_embeddings_all or options.tied_embeddings_src
    if shared and (len(sources) > 1 or vocabularies[0].fingerprint != vocabularies[-1].fingerprint):
        raise UsageError("one embedding for both sides needs one vocabulary for both")
    return Structure(
        source_vocabularies=tuple(sources),
        source_embeddings=tuple(widths),
        target_vocabulary=target,
        target_embedding=options.dim_emb,
        state=options.dim_rnn,
        encoder_depth=options.enc_depth,
        encoder_transition=options.enc_cell_depth,
        decoder_depth=options.dec_depth,
        decoder_base_transition=options.dec_cell_base_depth,
        decoder_high_transition=options.dec_cell_high_depth,
        deep_context=options.deep_context,
        residual=not options.no_skip,
        normalization=(
            Normalization.NEMATUS if options.layer_normalization else Normalization.NONE
        ),
        weight_normalization=options.weight_normalization,
        tied_output=options.tied_embeddings or options.tied_embeddings_all,
        shared_embeddings=shared,
        readout_activation=Activation(options.readout_activation),
        mixture=options.mixture,
        lexical=options.lexical,
    )
