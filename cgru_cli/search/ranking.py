"""The ranking of hypotheses in a search, and the choice among their extensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .decoder_states import Expansion, Rows
from .hypotheses import SearchResult, best_extensions
from .settings import SearchSettings


class LogProbability:
    """Ranks hypotheses by their log-probability; other rankings also keep a record of the rows."""

    def __init__(self, settings: SearchSettings):
        # number of extensions of a row to consider; None: all
        self.count: int | None = settings.beam_size + (settings.unk is not None)

    def begin(self, lengths: Sequence[int], lines: Sequence[int]) -> None:
        """Add sentences to the search, each with one row.

        lengths: words of their sources, with EOS; lines: their line numbers in the input.
        """

    def totals(self, sentences: np.ndarray, direct: np.ndarray, expansion: Expansion) -> np.ndarray:
        """The totals by which extensions are ranked, (R,N), -inf for those that are not candidates.

        sentences: (R,), by row; direct: (R,N) sums of log-probabilities, -inf for banned words.
        """
        return direct

    def choose(
        self, rows: Rows, totals: np.ndarray, capacity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The `best_extensions` of each sentence, before constraints apply."""
        return best_extensions(rows, totals, capacity)

    def advance(self, parents: np.ndarray, places: np.ndarray, words: np.ndarray) -> None:
        """Take a step: the new rows extend these parents by the words (R,) at these places."""

    def take(self, kept: np.ndarray) -> None:
        """Keep the rows selected by a mask: (R,) bool."""

    def result(self, row: int, result: SearchResult) -> SearchResult:
        """The translation that ends in a row of the last step, with its scores."""
        return result
