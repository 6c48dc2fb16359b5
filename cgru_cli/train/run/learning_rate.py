"""The learning rate, a function of progress alone (and of how often validation stalled).

The rules are Marian's (src/training/scheduler.h): a rate that grows in a straight line, then falls
with the inverse square root of progress, times a factor that decays in steps.
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
    """Options of the learning rate, each as Marian's option of that name.

    decay_by says when the rate is multiplied by `decay` (0: never):
    - "epoch": at the start of epoch `decay_start` (the first is 1 and never decays), and every
      `decay_every` epochs from there;
    - "batches": after `decay_start` updates, and every `decay_every` updates from there;
    - "stalled": whenever validation has stalled `decay_start` times more; `Patience` counts;
    - "epoch+batches", "epoch+stalled": at the start of every epoch from the first of the two
      numbers of `decay_start` on, or once so many updates are done, or validation has stalled so
      many times in a row, as the second says; `Patience` counts.

    Raises UsageError for what cannot be meant.
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
        if not 0 <= self.learn_rate < math.inf:
            raise UsageError(f"a learning rate of {self.learn_rate}; it must be 0 or above")
        if not 0 <= self.warmup_start_rate < math.inf:
            raise UsageError(f"a warm-up from {self.warmup_start_rate}; it must be 0 or above")
        if not 0 <= self.decay < math.inf:
            raise UsageError(f"a decay by {self.decay}; it must be a factor, 0 for none")
        if min(*self.decay_start, self.decay_every) < 1:
            raise UsageError("the learning rate's decay must start at 1 or later, every 1 or more")
        starts = 2 if "+" in self.decay_by else 1
        if self.decay and len(self.decay_start) != starts:
            number = "a number for each of the two" if starts == 2 else "one number"
            raise UsageError(f"--lr-decay-start: {self.decay_by} needs {number}")
        for frequency in (self.warmup, self.inverse_sqrt, self.inverse_sqrt_start):
            if frequency is not None and frequency.unit == "m":
                raise UsageError(
                    f"a learning rate that changes with minutes ({frequency}) could not be had"
                    " again; give updates (u), epochs (e) or target words (t)"
                )
        start = self.inverse_sqrt_start
        if start is not None and start.unit != self.inverse_sqrt.unit:
            raise UsageError(f"{self.inverse_sqrt} and {start} must be of the same unit")

    def at(self, progress: Progress, decays: int = 0) -> float:
        """The rate of the update that follows; decays: how often "stalled" has decayed it.

        Like Marian's, the first update of a warm-up has the rate that it starts from.
        """
        rate = self.learn_rate
        if self.warmup.every:
            grown = min(1.0, _of(self.warmup, progress) / self.warmup.every)
            rate = self.warmup_start_rate + (rate - self.warmup_start_rate) * grown
        if self.inverse_sqrt.every:
            width = self.inverse_sqrt.every
            start = width if self.inverse_sqrt_start is None else self.inverse_sqrt_start.every
            beyond = max(0, _of(self.inverse_sqrt, progress) - start)
            rate *= math.sqrt(width / (width + beyond))
        if self.decay:
            rate *= self.decay ** self.decays(progress, decays)
        return rate

    def decays(self, progress: Progress, stalled: int) -> int:
        """The number of decays so far; stalled: that of decays by "stalled"."""
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

        most_stalled: validations in a row that the first metric had not improved, at most so far.
        """
        if not self.decay or "+" not in self.decay_by:
            return False
        epoch, other = self.decay_start
        done = progress.updates if self.decay_by == "epoch+batches" else most_stalled
        return progress.epoch >= epoch or done >= other

    def decay_line(self, progress: Progress, patience: Patience) -> str:
        """The line of Marian's log about a decay, for scripts that look for it."""
        rate = self.at(progress, patience.decays)
        when = {
            "batches": f"after {progress.updates} batches",
            "stalled": f"after having stalled {patience.stalled} time(s)",
        }.get(self.decay_by, f"in epoch {progress.epoch}")
        return f"Decaying learning rate to {rate:g} {when}"


def _of(frequency: Frequency, progress: Progress) -> float:
    """Progress in a unit; epochs are counted from 1, as in Marian."""
    return progress.epoch if frequency.unit == "e" else frequency.of(progress)
