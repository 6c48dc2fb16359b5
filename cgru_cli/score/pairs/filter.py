"""Filter the pairs of a corpus by their scores."""

from __future__ import annotations

import math

from ...errors import CgruError
from ...output.hypothesis import Hypothesis
from ...system.terminal import tell
from .readers import Pair


def dual_cross_entropy(forward: float, backward: float) -> float:
    """exp(-(|H_A - H_B| + (H_A + H_B) / 2)): near 1 if both models agree and are certain.

    forward, backward: cross-entropies of a pair under the models of both directions, nats per word.
    (Junczys-Dowmunt 2018, "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora",
    eq. 1 and section 3.)
    """
    return math.exp(-(abs(forward - backward) + (forward + backward) / 2))


def dual_score(forward: Hypothesis, backward: Hypothesis) -> Hypothesis:
    """A translation with `dual_cross_entropy` as its total."""
    costs = (-one.score / (len(one.tokens) + 1) for one in (forward, backward))
    return forward._replace(total=dual_cross_entropy(*costs))


class PairFilter:
    """Keeps and counts the pairs whose scores lie strictly between two bounds.

    A bound of None has no effect.
    """

    def __init__(self, above: float | None, below: float | None):
        self._above = -math.inf if above is None else above
        self._below = math.inf if below is None else below
        self._pairs = self._kept = 0

    def line(self, pair: Pair, number: int, score: str) -> str:
        """The line for a pair (counted from 0): source, target, score, number from 1.

        Returns "" to drop the pair. score: as printed. Raises CgruError for a tab in a pair.
        """
        self._pairs += 1
        if not self._above < float(score) < self._below:
            return ""
        if "\t" in pair.source or "\t" in pair.target:
            raise CgruError(
                f"line {number + 1}: a tab within source or target; it cannot be written between "
                "tabs"
            )
        self._kept += 1
        return f"{pair.source}\t{pair.target}\t{score}\t{number + 1}\n"

    def report(self, quiet: bool) -> None:
        tell(f"{self._kept:,} of {self._pairs:,} pairs kept", quiet)
