"""Sample translations from the model instead of searching for the best ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .decoder_states import Expansion, Rows
from .ranking import LogProbability
from .settings import Sampling, SearchSettings


class Draws(LogProbability):
    """Draw k independent translations of each sentence, word by word.

    A sample depends on the seed and on its sentence's line, but not on the other sentences of the
    search. Scores are the model's, without temperature.
    """

    def __init__(self, settings: SearchSettings, sampling: Sampling):
        super().__init__(settings)
        self._sampling, self._samples = sampling, settings.beam_size
        self.count = None
        if sampling.top is not None:
            self.count = sampling.top + (settings.unk is not None)
        self._streams: list[list[np.random.Generator]] = []  # by sentence and sample
        self._numbers: np.ndarray = np.zeros(0, int)  # (R,) sample number of each row, -1 at first

    def begin(self, lengths: Sequence[int], lines: Sequence[int]) -> None:
        seed = self._sampling.seed
        self._streams += [
            [
                np.random.Generator(np.random.Philox(key=[seed, line], counter=[0, 0, 0, k]))
                for k in range(self._samples)
            ]
            for line in lines
        ]
        self._numbers = np.append(self._numbers, np.full(len(lengths), -1))

    def totals(self, sentences: np.ndarray, direct: np.ndarray, expansion: Expansion) -> np.ndarray:
        return expansion.log_probs

    def choose(
        self, rows: Rows, totals: np.ndarray, capacity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a word for each sample; returns rows and indices."""
        first = self._numbers < 0
        parents = np.repeat(np.arange(len(first)), np.where(first, self._samples, 1))
        numbers = self._numbers[parents]
        numbers[first[parents]] = np.tile(np.arange(self._samples), first.sum())
        self._numbers = numbers
        pairs = zip(rows.sentence[parents], numbers, strict=True)
        uniform = np.array([self._streams[sentence][number].random() for sentence, number in pairs])
        cumulative = np.cumsum(weights(totals, self._sampling), axis=1)
        places = np.empty(len(parents), int)
        for number, (row, share) in enumerate(zip(parents, uniform, strict=True)):
            mass = cumulative[row]
            places[number] = np.searchsorted(mass, share * mass[-1], side="right")
        return parents, places

    def take(self, kept: np.ndarray) -> None:
        self._numbers = self._numbers[kept]


def weights(log_probs: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Weights proportional to each word's sampling probability: (R,N) float64, at most 1.

    log_probs: (R,N), -inf for forbidden words. Probabilities are normalised over the other words.
    Words outside the `top` most probable, outside the nucleus (Holtzman et al. 2020, "The Curious
    Case of Neural Text Degeneration") or below epsilon (Hewitt et al. 2022, "Truncation Sampling as
    Language Model Desmoothing") have weight 0, except for the most probable word; the settings have
    at most one of the three. The temperature applies to the remaining words, as in Marian's
    `sampling.h`.
    """
    logs = log_probs.astype(np.float64)
    logs -= logs.max(axis=1, keepdims=True)
    dropped = None
    if sampling.top is not None and logs.shape[1] > sampling.top:
        ranks = np.argsort(np.argsort(-logs, axis=1, kind="stable"), axis=1)
        dropped = ranks >= sampling.top
    elif sampling.epsilon > 0 or sampling.nucleus < 1:
        likely = np.exp(logs)
        likely /= likely.sum(axis=1, keepdims=True)
        dropped = (likely < sampling.epsilon) & (logs < 0)
        if sampling.nucleus < 1:
            dropped = _outside_nucleus(likely, sampling.nucleus)
    if dropped is not None:
        logs[dropped] = -np.inf
    return np.exp(logs / sampling.temperature)


def _outside_nucleus(likely: np.ndarray, mass: float) -> np.ndarray:
    """Words whose more probable words have a total probability above the mass: (R,N) bool."""
    dropped = np.ones(likely.shape, bool)
    # words below this probability have a total of less than 1 - mass, so only the others are sorted
    rows, places = np.nonzero(likely >= (1 - mass) / likely.shape[1])
    order = np.lexsort((-likely[rows, places], rows))
    rows, places = rows[order], places[order]
    chances = likely[rows, places]
    before = np.cumsum(chances) - chances
    starts = np.searchsorted(rows, np.arange(len(likely)))
    dropped[rows, places] = before - before[starts][rows] > mass
    return dropped
