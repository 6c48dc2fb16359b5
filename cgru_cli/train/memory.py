"""The memory that a training needs, and checks before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..corpus.corpus import Corpus
from ..errors import CgruError
from ..parameters.names import parameters
from ..parameters.structure import Normalization, Structure
from ..system.memory import whole_memory

if TYPE_CHECKING:
    from .examples import Batching

# Copies of the model that training takes with an optimizer: weights, gradient, optimizer's state.
_COPIES = {"sgd": 2, "adagrad": 3, "rmsprop": 3}
_MORE_COPIES = 4  # with the others
_MIB = 2**20


def copies_of_model(optimizer: str, *, smoothed: bool) -> int:
    """The number of copies of the model that a training holds."""
    return _COPIES.get(optimizer, _MORE_COPIES) + smoothed


def memory_of_batch(structure: Structure, sentences: int, source: int, target: int) -> float:
    """An estimate of the bytes that a training step takes for a batch beside the model.

    Memory peaks either after the readout, with the logits and their gradient beside what the scan
    has kept of each step, or at the end of the backward scan, which keeps as much again. Layer
    normalisation adds half to both.
    """
    s = structure
    levels = s.encoder_depth * s.encoder_transition
    cells = s.decoder_base_transition + (s.decoder_depth - 1) * s.decoder_high_transition
    words = target * ((8 * cells + 4) * s.state + 4 * s.target_embedding)
    if not s.type.writes_text:  # the readout is not counted
        words = 0
    positions = source * (9 * levels * s.state + 2 * s.context + sum(s.source_embeddings))
    kept = (words + positions) * (1 if s.normalization is Normalization.NONE else 1.5)
    attention = 3 * source * s.context  # of one step
    logits = target * s.target_vocabulary
    return 4.0 * sentences * (kept + max(2 * logits, kept + attention))


def check_model(
    structure: Structure,
    optimizer: str,
    *,
    smoothed: bool = False,
    memory: Callable[[], int | None] = whole_memory,
) -> None:
    """Raises CgruError for a model that does not fit into this machine's memory."""
    count = sum(math.prod(parameter.size(structure)) for parameter in parameters(structure))
    needed, whole = 4 * count * copies_of_model(optimizer, smoothed=smoothed), memory()
    if whole is not None and needed > whole:
        raise CgruError(
            f"{count:,} parameters need {needed / _MIB:,.0f} MiB with gradient and optimizer, and "
            f"this machine has {whole / _MIB:,.0f}; lower --dim-rnn, --dim-emb or --dim-vocabs"
        )


def check_batch(
    structure: Structure,
    batching: Batching,
    corpus: Corpus,
    *,
    memory: Callable[[], int | None] = whole_memory,
) -> None:
    """Raises CgruError for mini-batches that do not fit into --workspace or this machine's memory.

    A batch of pairs of average length is checked. With --mini-batch-fit, the longest pair has to
    fit by itself.
    """
    if batching.memory:
        source, target = map(int, corpus.lengths[corpus.lengths.sum(axis=1).argmax()])
        needed = memory_of_batch(structure, 1, source, target)
        if needed > batching.memory:
            raise CgruError(
                f"--workspace {batching.memory // _MIB}: the longest pair, of {source} and "
                f"{target} words with EOS, needs {needed / _MIB:,.0f} MiB by itself; give as much, "
                "or lower --max-length, --dim-rnn or --dim-emb"
            )
        return
    source, target = (max(1, int(mean)) for mean in corpus.lengths.mean(axis=0))
    pairs = min(batching.sentences, len(corpus))
    if batching.words:
        pairs = min(pairs, max(1, batching.words // max(source, target)))
    needed, whole = memory_of_batch(structure, pairs, source, target), memory()
    if whole is not None and needed > whole:
        what = f"--mini-batch-words {batching.words}" if batching.words else "--mini-batch"
        raise CgruError(
            f"{what}: {pairs:,} pairs of {source} and {target} words need {needed / _MIB:,.0f} "
            f"MiB, and this machine has {whole / _MIB:,.0f}; lower it, or use --mini-batch-fit "
            "with --workspace"
        )
