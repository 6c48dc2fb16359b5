"""The learning rate, a function of progress and of the number of stalled validations.

The rules are Marian's (src/training/scheduler.h): the rate grows linearly, then falls with the
inverse square root of progress, and is multiplied by a factor that decays in steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import UsageError
from ...options.optimization import DecayStrategy
from .patience import Patience
from .progress import Frequency, Progress

NEVER = Frequency(0)


@dataclass(frozen=True)
class Schedule:
    """The learning rate's options, each like Marian's option of that name.

    decay_by says when the rate is multiplied by `decay` (0: never):
    - "epoch": at the start of epoch `decay_start` (epoch 1 never decays it), and every
      `decay_every` epochs from there;
    - "batches": after `decay_start` updates, and every `decay_every` updates from there;
    - "stalled": whenever validation has stalled `decay_start` more times, as `Patience` counts;
    - "epoch+batches", "epoch+stalled": at the start of every epoch, beginning with the epoch that
      is the first number of `decay_start`, or as soon as the number of updates or of stalled
      validations in a row reaches the second number; `Patience` counts.

    Raises UsageError for options that contradict each other.
    """

    learn_rate: float
    warmup: Frequency = NEVER  # --lr-warmup, in updates, epochs or words
    warmup_start_rate: float = 0.0
    inverse_sqrt: Frequency = NEVER  # --lr-decay-inv-sqrt, its first value
    inverse_sqrt_start: Frequency | None = None  # its second; the first if not given
    decay: float = 0.0
    decay_by: DecayStrategy = "stalled"
    decay_start: tuple[int, ...] = (1,)
    decay_every: int = 1

    def __post_init__(self) -> None:
        starts = 2 if "+" in self.decay_by else 1
        if self.decay and len(self.decay_start) != starts:
            number = "a number for each of the two" if starts == 2 else "one number"
            raise UsageError(f"--lr-decay-start: {self.decay_by} needs {number}")
        for frequency in (self.warmup, self.inverse_sqrt, self.inverse_sqrt_start):
            if frequency is not None and frequency.unit == "m":
                raise UsageError(
                    f"a learning rate that changes with minutes ({frequency}) is not reproducible; "
                    "give updates (u), epochs (e) or target words (t)"
                )
        start = self.inverse_sqrt_start
        if start is not None and start.unit != self.inverse_sqrt.unit:
            raise UsageError(f"{self.inverse_sqrt} and {start} must be of the same unit")

    def at(self, progress: Progress, decays: int = 0, warmup_from: float = 0) -> float:
        """The rate of the next update; decays: how often it has decayed because validation stalled.

        warmup_from: progress at which the warm-up began again, 0 for the first one. As in Marian,
        the first update of all has the warm-up's starting rate, and the update after a warm-up
        began again still has the full rate.
        """
        rate = self.learn_rate
        if self.warmup.every:
            done = self.warmup.counted(progress) - warmup_from
            grown = min(1.0, done / self.warmup.every) if done or not warmup_from else 1.0
            rate = self.warmup_start_rate + (rate - self.warmup_start_rate) * grown
        if self.inverse_sqrt.every:
            width = self.inverse_sqrt.every
            start = width if self.inverse_sqrt_start is None else self.inverse_sqrt_start.every
            beyond = max(0, self.inverse_sqrt.counted(progress) - start)
            rate *= math.sqrt(width / (width + beyond))
        if self.decay:
            rate *= self.decay ** self.decays(progress, decays)
        return rate

    def decays(self, progress: Progress, stalled: int) -> int:
        """The number of decays so far; stalled: how many of them `Patience` counts."""
        if not self.decay:
            return 0
        if self.decay_by not in ("epoch", "batches"):
            return stalled
        done, start = progress.updates, self.decay_start[0]
        if self.decay_by == "epoch":
            done, start = progress.epoch, max(2, start)
        return (done - start) // self.decay_every + 1 if done >= start else 0

    def decays_with_epoch(self, progress: Progress, most_stalled: int) -> bool:
        """Whether the start of an epoch decays the rate, for a strategy of two parts.

        most_stalled: the longest series of validations without a new best of the first metric.
        """
        if not self.decay or "+" not in self.decay_by:
            return False
        epoch, other = self.decay_start
        done = progress.updates if self.decay_by == "epoch+batches" else most_stalled
        return progress.epoch >= epoch or done >= other

    def decay_line(self, progress: Progress, patience: Patience, warmup_from: float = 0) -> str:
        """The line about a decay in Marian's log, which scripts look for."""
        rate = self.at(progress, patience.decays, warmup_from)
        when = {
            "batches": f"after {progress.updates} batches",
            "stalled": f"after having stalled {patience.stalled} time(s)",
        }.get(self.decay_by, f"in epoch {progress.epoch}")
        return f"Decaying learning rate to {rate:g} {when}"
