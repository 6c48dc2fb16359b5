"""Moving averages of the training cost, which show that a training diverges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

DEFAULTS = 1000, 10, 5.0


@dataclass(frozen=True)
class CostAverages:
    """Exponential averages of the cost over many and over few updates, as Marian computes them.

    variance: of the cost around the slow average. limits: up to three numbers (see DEFAULTS), the
    windows of both averages in updates, and the standard deviations by which the fast average may
    exceed the slow one.
    """

    slow: float = 0.0
    fast: float = 0.0
    variance: float = 0.0

    def add(self, cost: float, updates: int, limits: Sequence[float]) -> Self:
        """The averages after update number `updates`, whose cost is finite."""
        if not self.slow:
            return type(self)(cost, cost)
        slow, fast = (*limits, *DEFAULTS[len(limits) :])[:2]
        share = 2 / (min(slow, updates) + 1)
        change = cost - self.slow
        return type(self)(
            self.slow + share * change,
            self.fast + 2 / (min(fast, updates) + 1) * (cost - self.fast),
            (1 - share) * (self.variance + share * change**2),
        )

    def divergence(self, updates: int, limits: Sequence[float]) -> str | None:
        """The evidence that costs rise; None if nothing does, or too few updates are known."""
        slow, fast, most = (*limits, *DEFAULTS[len(limits) :])[:3]
        rise, deviation = self.fast - self.slow, math.sqrt(self.variance)
        if updates <= slow or rise <= most * deviation or not deviation:
            return None
        return (
            f"the cost rises: its mean of the last {fast:g} updates, {self.fast:.4f}, exceeds that "
            f"of the last {slow:g}, {self.slow:.4f}, by {rise / deviation:.1f} standard deviations"
        )
