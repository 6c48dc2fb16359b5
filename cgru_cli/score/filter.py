"""Pairs of a corpus kept or dropped by their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import CgruError
from ..output.hypothesis import Hypothesis
from ..system.terminal import tell
from .pairs import Pair


def dual_cross_entropy(forward: float, backward: float) -> float:
    """exp(-(|H_A - H_B| + (H_A + H_B) / 2)): near 1 where both models agree and are sure.

    forward, backward: cross-entropies of a pair by models of either direction, nats a word.
    (Junczys-Dowmunt 2018, "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora",
    eq. 1 and section 3.)
    """
    return math.exp(-(abs(forward - backward) + (forward + backward) / 2))


def dual_score(forward: Hypothesis, backward: Hypothesis) -> Hypothesis:
    """A pair's translation with the score of `dual_cross_entropy` for its total."""
    costs = (-one.score / (len(one.tokens) + 1) for one in (forward, backward))
    return forward._replace(total=dual_cross_entropy(*costs))


@dataclass(frozen=True)
class Bounds:
    """Bounds of the scores of kept pairs, exclusive."""

    above: float | None
    below: float | None

    @property
    def given(self) -> bool:
        """Whether a bound was given."""
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


class PairFilter:
    """Keeps the pairs within bounds, and counts them."""

    def __init__(self, bounds: Bounds):
        self._bounds = bounds
        self._pairs = self._kept = 0

    def line(self, pair: Pair, number: int, score: str) -> str:
        """The line of `Bounds.line`; the pair is counted."""
        line = self._bounds.line(pair, number, score)
        self._pairs += 1
        self._kept += bool(line)
        return line

    def report(self, quiet: bool) -> None:
        """Say how many pairs were kept."""
        tell(f"{self._kept:,} of {self._pairs:,} pairs kept", quiet)
