"""Check that training fits into memory before it begins."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

from ..corpus.corpus import Corpus
from ..errors import CgruError
from ..options.train import TrainOptions
from ..parameters.names import parameters
from ..parameters.structure import Normalization, Structure

# Copies of the model in memory, by optimizer: weights, gradient, optimizer's state.
_COPIES = {"sgd": 2, "adagrad": 3, "rmsprop": 3}
_MORE_COPIES = 4  # with other optimizers
_MIB = 2**20
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def whole_memory() -> int | None:
    """Bytes of memory of this machine or container; None if unknown."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # Linux only; "max" is not a number
            whole = min(whole, int(Path(path).read_text()))
    return whole


def copies_of_model(options: TrainOptions) -> int:
    """The number of copies of the model that a training run holds."""
    return _COPIES.get(options.optimizer, _MORE_COPIES) + (options.exponential_smoothing > 0)


def memory_of_batch(structure: Structure, sentences: int, source: int, target: int) -> float:
    """An estimate of the bytes that a training step needs for a batch, without the model.

    Memory peaks either after the readout, with the logits, their gradient and the tensors that the
    scan keeps for each step, or at the end of the backward scan, which keeps as many tensors again.
    Layer normalisation adds half to both.
    """
    s = structure
    levels = s.encoder_depth * s.encoder_transition
    cells = s.decoder_base_transition + (s.decoder_depth - 1) * s.decoder_high_transition
    words = target * ((8 * cells + 4) * s.state + 4 * s.target_embedding) * s.type.writes_text
    positions = source * (9 * levels * s.state + 2 * s.context + sum(s.source_embeddings))
    kept = (words + positions) * (1 if s.normalization is Normalization.NONE else 1.5)
    attention = 3 * source * s.context  # of one step
    logits = target * s.target_vocabulary
    return 4.0 * sentences * (kept + max(2 * logits, kept + attention))


def check_model(structure: Structure, options: TrainOptions) -> None:
    """Raises CgruError for a model that does not fit into this machine's memory."""
    count = sum(math.prod(parameter.size(structure)) for parameter in parameters(structure))
    needed, whole = 4 * count * copies_of_model(options), whole_memory()
    if whole is not None and needed > whole:
        raise CgruError(
            f"{count:,} parameters need {needed / _MIB:,.0f} MiB with gradient and optimizer, and "
            f"this machine has {whole / _MIB:,.0f}; lower --dim-rnn, --dim-emb or --dim-vocabs"
        )


def check_batch(structure: Structure, options: TrainOptions, corpus: Corpus) -> None:
    """Raises CgruError for mini-batches that do not fit into --workspace or this machine's memory.

    Checks a batch of pairs of average length. With --mini-batch-fit, the longest pair must fit by
    itself.
    """
    if options.mini_batch_fit:
        source, target = map(int, corpus.lengths[corpus.lengths.sum(axis=1).argmax()])
        needed = memory_of_batch(structure, 1, source, target)
        if needed > options.workspace * _MIB:
            raise CgruError(
                f"--workspace {options.workspace}: the longest pair, of {source} and {target} "
                f"words with EOS, needs {needed / _MIB:,.0f} MiB by itself; raise it to that "
                "or lower --max-length, --dim-rnn or --dim-emb"
            )
        return
    source, target = (max(1, int(mean)) for mean in corpus.lengths.mean(axis=0))
    pairs, words = min(options.mini_batch, len(corpus)), options.mini_batch_words
    if words:
        pairs = min(pairs, max(1, words // max(source, target)))
    needed, whole = memory_of_batch(structure, pairs, source, target), whole_memory()
    if whole is not None and needed > whole:
        what = f"--mini-batch-words {words}" if words else "--mini-batch"
        raise CgruError(
            f"{what}: {pairs:,} pairs of {source} and {target} words need {needed / _MIB:,.0f} "
            f"MiB, and this machine has {whole / _MIB:,.0f}; lower it, or use --mini-batch-fit "
            "with --workspace"
        )
