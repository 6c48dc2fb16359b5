"""Translations drawn from the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..parameters.structure import EOS_ID
from .hypotheses import History, Rows, SearchBatch, SearchResult, expand, forced_words
from .settings import Sampling, SearchSettings


def sample(
    batch: SearchBatch, settings: SearchSettings, sampling: Sampling, lines: Sequence[int]
) -> list[list[SearchResult]]:
    """k independent translations of each sentence, drawn from the model; the best first.

    lines: each sentence's number in the input. With the seed it determines what is drawn, so that
    a sample does not depend on the batch. Scores are the model's, without temperature.
    """
    beam = settings.beam_size
    count = None if sampling.top is None else sampling.top + (settings.unk is not None)
    history = History(settings)
    results: list[list[SearchResult]] = [[] for _ in batch.lengths]
    draws = [
        [
            np.random.Generator(np.random.Philox(key=[sampling.seed, line], counter=[0, 0, 0, k]))
            for k in range(beam)
        ]
        for line in lines
    ]
    limits = np.asarray(batch.limits)
    prefixes = batch.prefixes or [()] * len(limits)
    # k samples start from a sentence's one row
    rows = Rows.begin(len(limits)).take(np.repeat(np.arange(len(limits)), beam))
    numbers = np.tile(np.arange(beam), len(limits))  # (R,) which of the k each row is
    while len(numbers):
        forced = forced_words(prefixes, rows.sentence, np.full(len(numbers), history.count))
        expansion, banned = expand(batch.lattice, rows, count, settings, forced)
        weights = expansion.log_probs.astype(np.float64) / sampling.temperature
        weights = np.where(banned, -np.inf, weights)
        if sampling.top is not None and weights.shape[1] > sampling.top:
            ranks = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
            weights = np.where(ranks < sampling.top, weights, -np.inf)
        cumulative = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
        uniform = np.array(
            [draws[i][k].random() for i, k in zip(rows.sentence, numbers, strict=True)]
        )
        places = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
        here = np.arange(len(numbers), dtype=np.int32)
        words, log_probs = history.add(rows.continued, expansion, here, places)
        rows = Rows(rows.sentence, here, here, words, rows.score + log_probs)
        done = (words == EOS_ID) | (history.count >= limits[rows.sentence])
        for row in np.flatnonzero(done):
            number = rows.sentence[row]
            results[number].append(history.result(int(row), batch.lengths[number]))
        rows, numbers = rows.take(~done), numbers[~done]
    return [sorted(drawn, key=lambda result: -result.total) for drawn in results]
