"""The learning rate, a function of progress and of the number of stalled validations.

The rules are Marian's (src/training/scheduler.h): the rate grows linearly, then falls with the
inverse square root of progress; in addition, it decays in steps. A rate that falls to 0 at the end
of training is not in Marian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...errors import UsageError
from ...options.train import TrainOptions
from .patience import Patience
from .progress import Frequency, Progress

_LAST = 0.2  # share of the training over which "late" decays (Haegele et al. 2024)

# The factor of the rate by the share of the training that is done, for --lr-decay-to-end.
TO_END: dict[str, Callable[[float], float]] = {
    "off": lambda done: 1.0,
    "linear": lambda done: 1 - done,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "late": lambda done: min(1.0, (1 - done) / _LAST),
}


class Schedule:
    """The learning rate's options, which work like Marian's options of the same names.

    --lr-decay-strategy says when the rate is multiplied by --lr-decay (0: never):
    - "epoch": at the start of epoch --lr-decay-start (except epoch 1), and every --lr-decay-freq
      epochs from then on;
    - "batches": after --lr-decay-start updates, and every --lr-decay-freq updates from then on;
    - "stalled": whenever validation has stalled --lr-decay-start more times, as `Patience` counts;
    - "epoch+batches", "epoch+stalled": at the start of every epoch, beginning with the first number
      of --lr-decay-start, or as soon as the number of updates or of stalled validations in a row
      reaches the second number; `Patience` counts.
    """

    def __init__(self, options: TrainOptions, after: Sequence[Frequency] = ()):
        """after: the limits of the training. Raises UsageError for options that contradict each
        other.
        """
        self._options, self._by = options, options.lr_decay_strategy
        self._to_end, self._after = TO_END[options.lr_decay_to_end], after
        self.warmup = Frequency.parse(options.lr_warmup)
        self._sqrt = Frequency.parse(options.lr_decay_inv_sqrt)
        start = options.lr_decay_inv_sqrt_start
        self._sqrt_start = Frequency.parse(start) if start else self._sqrt
        starts = 2 if "+" in self._by else 1
        if options.lr_decay and len(options.lr_decay_start) != starts:
            number = "a number for each of the two" if starts == 2 else "one number"
            raise UsageError(f"--lr-decay-start: {self._by} needs {number}")
        if self._sqrt_start.unit != self._sqrt.unit:
            raise UsageError(f"{self._sqrt} and {self._sqrt_start} must be of the same unit")

    def of_update(self, rate: float, words: int) -> tuple[float, float]:
        """The rate of an update with this many target words, and its size, at least 1.

        The size is relative to --mini-batch-words-ref.
        """
        options = self._options
        size = max(1.0, words / (options.mini_batch_words_ref or words))
        rate *= words / (options.lr_words_ref or words)
        return (rate * size if options.optimizer.startswith("adam") else rate), size

    def counted(self, frequency: Frequency, progress: Progress) -> float:
        """The progress in this unit; the current epoch counts as a whole in Marian."""
        marian = self._options.compat == "marian"
        return frequency.counted(progress) if marian else frequency.of_all(progress)

    def at(self, progress: Progress, decays: int = 0, warmup_from: float = 0) -> float:
        """The rate of the next update; decays: how often it has decayed because validation stalled.

        warmup_from: progress at which the warm-up was restarted, 0 for the first warm-up. As in
        Marian, the first update has the warm-up's starting rate, and the update after a restart
        still has the full rate.
        """
        rate, first = self._options.learn_rate, self._options.lr_warmup_start_rate
        if self.warmup.every:
            done = self.counted(self.warmup, progress) - warmup_from
            grown = min(1.0, done / self.warmup.every) if done or not warmup_from else 1.0
            rate = first + (rate - first) * grown
        if width := self._sqrt.every:
            beyond = max(0, self.counted(self._sqrt, progress) - self._sqrt_start.every)
            rate *= math.sqrt(width / (width + beyond))
        if self._after:
            share = max(limit.of_all(progress) / limit.every for limit in self._after)
            rate *= self._to_end(min(1.0, share))
        if decay := self._options.lr_decay:
            rate *= decay ** self.decays(progress, decays)
        return rate

    def decays(self, progress: Progress, stalled: int) -> int:
        """The number of decays so far; stalled: the number that `Patience` counts."""
        if not self._options.lr_decay:
            return 0
        if self._by not in ("epoch", "batches"):
            return stalled
        done, start = progress.updates, self._options.lr_decay_start[0]
        if self._by == "epoch":
            done, start = progress.epoch, max(2, start)
        return (done - start) // self._options.lr_decay_freq + 1 if done >= start else 0

    def decays_with_epoch(self, progress: Progress, most_stalled: int) -> bool:
        """Whether the start of an epoch decays the rate, for the strategies with two parts.

        most_stalled: the longest series of validations without a new best of the first metric.
        """
        if not self._options.lr_decay or "+" not in self._by:
            return False
        epoch, other = self._options.lr_decay_start
        done = progress.updates if self._by == "epoch+batches" else most_stalled
        return progress.epoch >= epoch or done >= other

    def decay_line(self, progress: Progress, patience: Patience, warmup_from: float = 0) -> str:
        """The line about a decay, as in Marian's log, which scripts search."""
        rate = self.at(progress, patience.decays, warmup_from)
        when = {
            "batches": f"after {progress.updates} batches",
            "stalled": f"after having stalled {patience.stalled} time(s)",
        }.get(self._by, f"in epoch {progress.epoch}")
        return f"Decaying learning rate to {rate:g} {when}"
