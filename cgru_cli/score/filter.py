"""Which pairs of a corpus are kept, by their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import CgruError
from .pairs import Pair


def dual_cross_entropy(forward: float, backward: float) -> float:
    """exp(-(|H_A - H_B| + (H_A + H_B) / 2)): near 1 where both models agree and are sure.

    forward, backward: cross-entropies of a pair by models of either direction, nats a word.
    (Junczys-Dowmunt 2018, "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora",
    eq. 1 and section 3.)
    """
    return math.exp(-(abs(forward - backward) + (forward + backward) / 2))


@dataclass(frozen=True)
class Bounds:
    """Scores between which pairs are kept, themselves excluded."""

    above: float | None
    below: float | None

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return self.above is not None or self.below is not None

    def line(self, pair: Pair, number: int, score: str) -> str:
        """A pair (counted from 0) that is kept, as text: source, target, score, number from 1.

        score: as it is printed. "" for one that is not kept. Raises CgruError for a tab in it.
        """
        value = float(score)
        if self.above is not None and not value > self.above:
            return ""
        if self.below is not None and not value < self.below:
            return ""
        if "\t" in pair.source or "\t" in pair.target:
            raise CgruError(
                f"line {number + 1}: a tab within source or target; it cannot be written between "
                "tabs"
            )
        return f"{pair.source}\t{pair.target}\t{score}\t{number + 1}\n"
