"""Moving averages of the training cost, to detect that training diverges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from ...system.typed_json import LATER

DEFAULTS = 1000, 10, 5.0


@dataclass(frozen=True)
class CostAverages:
    """Exponential averages of the cost over many and over few updates, computed as in Marian.

    variance: of the cost around the slow average. before: updates before the first cost, if the
    averages began in a resumed run. limits: up to three numbers (see DEFAULTS), the
    windows of both averages in updates, and the number of standard deviations by which the fast
    average may exceed the slow average.
    """

    slow: float = 0.0
    fast: float = 0.0
    variance: float = 0.0
    before: int = field(default=0, metadata=LATER)

    def add(self, cost: float, updates: int, limits: Sequence[float]) -> Self:
        """The averages after update number `updates`; its cost must be finite."""
        if not self.slow:
            return type(self)(cost, cost, before=updates - 1)
        slow, fast = (*limits, *DEFAULTS[len(limits) :])[:2]
        count = updates - self.before
        share = 2 / (min(slow, count) + 1)
        change = cost - self.slow
        return type(self)(
            self.slow + share * change,
            self.fast + 2 / (min(fast, count) + 1) * (cost - self.fast),
            (1 - share) * (self.variance + share * change**2),
            self.before,
        )

    def divergence(self, updates: int, limits: Sequence[float]) -> str | None:
        """A message if the cost rises; None if it does not, or after too few updates."""
        slow, fast, most = (*limits, *DEFAULTS[len(limits) :])[:3]
        rise, deviation = self.fast - self.slow, math.sqrt(self.variance)
        if updates - self.before <= slow or rise <= most * deviation or not deviation:
            return None
        return (
            f"the cost rises: its mean of the last {fast:g} updates, {self.fast:.4f}, exceeds that "
            f"of the last {slow:g}, {self.slow:.4f}, by {rise / deviation:.1f} standard deviations"
        )
