"""The ranking of hypotheses in a search, and the choice among their extensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .hypotheses import Rows, SearchResult, best_extensions
from .lattice import Expansion
from .settings import SearchSettings


class LogProbability:
    """Ranks hypotheses by their log-probability."""

    def __init__(self, settings: SearchSettings):
        # number of extensions of a row to consider; None: all
        self.count: int | None = settings.beam_size + (settings.unk is not None)

    def begin(self, lengths: Sequence[int], lines: Sequence[int]) -> None:
        """Do nothing: the sentences need no record."""

    def totals(self, sentences: np.ndarray, direct: np.ndarray, expansion: Expansion) -> np.ndarray:
        """The sums of log-probabilities, (R,N), unchanged."""
        return direct

    def choose(
        self, rows: Rows, totals: np.ndarray, capacity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose extensions, before constraints apply: see `best_extensions`."""
        return best_extensions(rows, totals, capacity)

    def advance(self, parents: np.ndarray, places: np.ndarray, words: np.ndarray) -> None:
        """Do nothing: the rows need no record."""

    def take(self, kept: np.ndarray) -> None:
        """Do nothing: the rows need no record."""

    def result(self, row: int, result: SearchResult) -> SearchResult:
        """The result, unchanged."""
        return result
