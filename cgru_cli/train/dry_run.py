"""Describe a training run before it begins: the first lines of the log, and `--dry-run`."""

from __future__ import annotations

from ..corpus.corpus import Corpus
from .examples import EpochExamples
from .memory import copies_of_model, memory_of_batch
from .setup import Setup


def opening(setup: Setup, *, jit: bool, devices: str = "") -> list[str]:
    """The first lines of the log; devices: the number of devices as text, "" for one."""
    options, structure = setup.plan.options, setup.model.structure
    corpus = setup.corpus.of_epoch(0)
    line = (
        f"Training {setup.model.parameter_count:,} parameters on {len(corpus):,} pairs "
        f"{_pairs(corpus)}, vocabularies "
        f"{structure.source_vocabularies} and {structure.target_vocabulary}, "
        f"{'XLA' if jit else 'no XLA'}, {options.precision}{devices and f', {devices}'}"
    )
    return setup.plan.conventions.opening(
        line, setup.notes, setup.vocabularies, setup.request.settings
    )


def _pairs(corpus: Corpus) -> str:
    """The pairs left out or cut, and the alignments and weights of the remaining pairs."""
    shown = ", ".join(f"{count:,} {why}" for why, count in corpus.skipped.items())
    shown = f"({shown})"
    if (points := corpus.columns.get("alignment")) is not None:
        shown += f", {points.lengths().sum():,} points of alignment"
    if (weights := corpus.columns.get("weights")) is not None:
        shown += f", weighted by {'words' if weights.lengths().max() > 1 else 'sentences'}"
    return shown


def describe(setup: Setup) -> None:
    """Print sizes, memory and the first batch on standard output."""
    options, model, corpus = setup.plan.options, setup.model, setup.corpus.of_epoch(0)
    s, mib = model.structure, 2**20
    first = next(EpochExamples(corpus, s, options, grid=False).epoch(0, 0)).batch
    rows, source = first.source_mask.shape
    target = first.target.shape[1]
    source_words, target_words = corpus.lengths.sum(axis=0)
    arrays = model.parameter_count * 4 * copies_of_model(options) / mib
    batch = memory_of_batch(s, rows, source, target) / mib
    read = first.source[0, :, 0] if s.type.reads_source else ()
    print(
        *setup.notes,
        f"pairs: {len(corpus):,} {_pairs(corpus)}",
        f"words with EOS: source {source_words:,}, target {target_words:,}",
        f"model: {model.parameter_count:,} parameters; embeddings {s.source_embeddings} and "
        f"{s.target_embedding}, state {s.state}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}",
        f"memory: model, gradient and optimizer {arrays:,.1f} MiB, the first batch about "
        f"{batch:,.1f} MiB",
        f"first batch: {first.sentences} pairs of up to {source} and {target} words with EOS, "
        f"{first.words} target words",
        sep="\n",
    )
    print("first pair:", *read, "->", *first.target[0])
