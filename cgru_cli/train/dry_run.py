"""The description of a training before it begins: the first line of the log, and `--dry-run`."""

from __future__ import annotations

from ..corpus.corpus import Corpus
from ..formats.model import Model
from .examples import Batching, EpochExamples, memory_of_batch
from .memory import copies_of_model
from .starting_model import StartingModel


def greeting(model: Model, corpus: Corpus, *, jit: bool, precision: str, devices: str = "") -> str:
    """The first line of a training's log; devices: their number, if there are several."""
    s = model.structure
    return (
        f"Training {model.parameter_count:,} parameters on {len(corpus):,} pairs "
        f"({_left_out(corpus)}){_beside(corpus)}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}, {'XLA' if jit else 'no XLA'}, {precision}"
        f"{devices and f', {devices}'}"
    )


def opening(
    start: StartingModel,
    corpus: Corpus,
    *,
    jit: bool,
    precision: str,
    devices: str = "",
    as_marian: bool = False,
) -> list[str]:
    """The lines that a training's log begins with; as_marian: for scripts that read Marian's."""
    line = greeting(start.model, corpus, jit=jit, precision=precision, devices=devices)
    if as_marian:  # scripts read the beginnings of the lines
        return [*start.notes, line.replace("Training", "[training]", 1), "Training started"]
    return [*start.notes, line]


def _left_out(corpus: Corpus) -> str:
    """The numbers of pairs that were left out or cut."""
    return ", ".join(f"{count:,} {why}" for why, count in corpus.skipped.items())


def _beside(corpus: Corpus) -> str:
    """Alignments and weights of the pairs, as the log tells of them."""
    aligned, weights = corpus.alignments, corpus.weights
    shown = f", {aligned.count:,} points of alignment" if aligned else ""
    if weights:
        shown += ", weighted by words" if weights.by_word else ", weighted by sentences"
    return shown


def describe(
    start: StartingModel, corpus: Corpus, batching: Batching, optimizer: str, *, smoothed: bool
) -> None:
    """Sizes, memory and the first batch, on standard output.

    smoothed: whether a second set of weights is kept, averaged over updates.
    """
    model, _, notes = start
    s = model.structure
    first = next(EpochExamples.of(corpus, s, batching, grid=False).epoch(0, 0)).batch
    words = corpus.lengths.sum(axis=0)
    copies = copies_of_model(optimizer, smoothed=smoothed)
    rows, source = first.source_mask.shape
    target = first.target.shape[1]
    arrays = model.parameter_count * 4 * copies / 2**20
    batch = memory_of_batch(s, rows, source, target) / 2**20
    print(*notes, sep="\n", end="\n" * bool(notes))
    print(f"pairs: {len(corpus):,} ({_left_out(corpus)}){_beside(corpus)}")
    print(f"words with EOS: source {words[0]:,}, target {words[1]:,}")
    print(
        f"model: {model.parameter_count:,} parameters; embeddings {s.source_embeddings} and "
        f"{s.target_embedding}, state {s.state}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}"
    )
    print(
        f"memory: model, gradient and optimizer {arrays:,.1f} MiB, the first batch about "
        f"{batch:,.1f} MiB"
    )
    print(
        f"first batch: {first.sentences} pairs of up to {source} and {target} words with EOS, "
        f"{first.words} target words"
    )
    source = first.source[0, :, 0] if s.type.reads_source else ()
    print("its first pair:", *source, "->", *first.target[0])
