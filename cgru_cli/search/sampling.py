"""Translations drawn from the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..parameters.structure import EOS_ID
from .hypotheses import START, Found, History, SearchBatch, SearchSettings, expand, forced_words


@dataclass(frozen=True)
class Sampling:
    """How words are drawn: from all, or the `top` most probable, at a softmax temperature."""

    temperature: float = 1.0
    top: int | None = None
    seed: int = 0


def sample(
    batch: SearchBatch, settings: SearchSettings, sampling: Sampling, lines: Sequence[int]
) -> list[list[Found]]:
    """k independent translations of each sentence, drawn from the model; the best first.

    lines: each sentence's number in the input. With the seed it determines what is drawn, so that
    a sample does not depend on the batch. Scores are the model's, without temperature.
    """
    beam = settings.beam_size
    count = None if sampling.top is None else sampling.top + (settings.unk is not None)
    history = History(settings)
    results: list[list[Found]] = [[] for _ in batch.lengths]
    draws = [
        [
            np.random.Generator(np.random.Philox(key=[sampling.seed, line], counter=[0, 0, 0, k]))
            for k in range(beam)
        ]
        for line in lines
    ]
    limits = np.asarray(batch.limits)
    prefixes = batch.prefixes or [()] * len(limits)
    sentences = np.repeat(np.arange(len(limits), dtype=np.int32), beam)
    numbers = np.tile(np.arange(beam), len(limits))
    parents = continued = sentences  # k samples start from a sentence's one row
    previous = np.full(len(sentences), START, np.int32)
    while len(sentences):
        forced = forced_words(prefixes, sentences, np.full(len(sentences), history.count))
        expansion, banned = expand(
            batch.lattice, forced, (sentences, parents, previous), count, settings
        )
        weights = expansion.log_probs.astype(np.float64) / sampling.temperature
        weights = np.where(banned, -np.inf, weights)
        if sampling.top is not None and weights.shape[1] > sampling.top:
            ranks = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
            weights = np.where(ranks < sampling.top, weights, -np.inf)
        cumulative = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
        uniform = np.array([draws[i][k].random() for i, k in zip(sentences, numbers, strict=True)])
        places = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
        words, _ = history.add(continued, expansion, np.arange(len(sentences)), places)
        done = (words == EOS_ID) | (history.count >= limits[sentences])
        for row in np.flatnonzero(done):
            number = sentences[row]
            results[number].append(history.found(int(row), batch.lengths[number]))
        parents = continued = np.flatnonzero(~done).astype(np.int32)
        sentences, numbers, previous = sentences[parents], numbers[parents], words[parents]
    return [sorted(found, key=lambda f: -f.total) for found in results]
