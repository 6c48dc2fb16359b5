"""Translations drawn from the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..parameters.structure import EOS_ID
from .constraints import Tracker
from .hypotheses import History, Rows, SearchBatch, SearchResult, expand
from .settings import Sampling, SearchSettings


def sample(
    batch: SearchBatch, settings: SearchSettings, sampling: Sampling, lines: Sequence[int]
) -> list[list[SearchResult]]:
    """k independent translations of each sentence, drawn from the model; the best first.

    lines: each sentence's number in the input. A sample depends on it and on the seed, but not on
    the batch. Scores are the model's, without temperature.
    """
    beam, size = settings.beam_size, len(batch.lengths)
    count = None if sampling.top is None else sampling.top + (settings.unk is not None)
    history, tracker = History(settings), Tracker()
    tracker.begin(size, batch.prefixes)
    results: list[list[SearchResult]] = [[] for _ in batch.lengths]
    keys = [(line, k) for line in lines for k in range(beam)]
    draws = [
        np.random.Generator(np.random.Philox(key=[sampling.seed, line], counter=[0, 0, 0, k]))
        for line, k in keys
    ]
    limits = np.asarray(batch.limits)
    # the k samples of a sentence begin with its one row
    rows = Rows.begin(size).take(np.repeat(np.arange(size), beam))
    numbers = np.arange(size * beam)  # (R,) the sample that each row is
    while len(numbers):
        asked = tracker.asked(rows.sentence, np.full(len(numbers), history.count))
        expansion = expand(batch.lattice, rows, count, settings, asked)
        weights = expansion.log_probs.astype(np.float64) / sampling.temperature
        if sampling.top is not None and weights.shape[1] > sampling.top:
            ranks = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
            weights = np.where(ranks < sampling.top, weights, -np.inf)
        cumulative = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
        uniform = np.array([draws[number].random() for number in numbers])
        places = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
        rows = history.extend(rows, expansion, np.arange(len(numbers)), places)
        done = (rows.previous == EOS_ID) | (history.count >= limits[rows.sentence])
        for row in np.flatnonzero(done).tolist():
            number = rows.sentence[row]
            results[number].append(history.result(row, batch.lengths[number]))
        rows, numbers = rows.take(~done), numbers[~done]
    return [sorted(drawn, key=lambda result: -result.total) for drawn in results]
