"""The progress of a training run, and the frequencies and limits that depend on it.

Every decision compares the progress before and after an update, without separate counters, so that
a resumed run decides the same as an uninterrupted run.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from msgspec import Meta

from ...options import kinds
from ...options.kinds import ProgressUnit
from ...system.typed_json import LATER

Count = Annotated[int, Meta(ge=0)]
CostType = Literal["risk", "cross-entropy", "ce-mean-words"]

NORM_WINDOW = 100  # updates over which gradient norms are averaged


@dataclass(frozen=True)
class Progress:
    """The amount of training done."""

    epochs: Count = 0  # finished epochs
    updates: Count = 0
    batches: Count = 0  # taken from the current epoch
    sentences: Count = 0  # pairs of the current epoch
    words: Count = 0  # target words, including EOS
    seconds: Annotated[float, Meta(ge=0)] = 0.0  # of training, over all runs
    # of the current epoch that is done, including the pairs that --mini-batch-warmup leaves out
    share: Annotated[float, Meta(ge=0)] = field(default=0.0, metadata=LATER)

    @property
    def epoch(self) -> int:
        """The current epoch, counted from 1 as Marian does."""
        return self.epochs + 1

    def update(
        self, *, batches: int, sentences: int, words: int, seconds: float, share: float
    ) -> Self:
        """Progress after another update, on these parts of the current epoch."""
        return dataclasses.replace(
            self,
            updates=self.updates + 1,
            batches=self.batches + batches,
            sentences=self.sentences + sentences,
            words=self.words + words,
            seconds=self.seconds + seconds,
            share=self.share + share,
        )

    def next_epoch(self) -> Self:
        """Progress at the start of the next epoch."""
        return dataclasses.replace(self, epochs=self.epochs + 1, batches=0, sentences=0, share=0.0)


@dataclass(frozen=True)
class Frequency:
    """Every N updates (u), epochs (e), minutes (m) or target words (t); 0 is never."""

    every: int | float
    unit: ProgressUnit = "u"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `500`, `500u`, `2e`, `30m`, `10Mt`, `0`. Raises ValueError for anything else."""
        return cls(*kinds.frequency(text))

    @classmethod
    def parse_all(cls, text: str) -> tuple[Self, ...]:
        """Parse several values between commas, such as Marian's `--after 10e,300ku`."""
        return tuple(cls.parse(part) for part in text.split(","))

    def __str__(self) -> str:
        return f"{self.every}{self.unit}"

    def of(self, progress: Progress) -> float:
        """The progress in this unit."""
        minutes = progress.seconds / 60
        done = {"u": progress.updates, "e": progress.epochs, "m": minutes, "t": progress.words}
        return done[self.unit]

    def of_all(self, progress: Progress) -> float:
        """The progress in this unit, including the share of the current epoch that is done."""
        return progress.epochs + progress.share if self.unit == "e" else self.of(progress)

    def rest(self, progress: Progress) -> Self:
        """The amount left until the next multiple; 0 at a multiple."""
        done = round(self.of_all(progress), 9)  # the shares of an epoch are sums
        return type(self)(-done % self.every, self.unit)

    def counted(self, progress: Progress) -> float:
        """The progress in this unit, including the whole current epoch, as in Marian."""
        return progress.epoch if self.unit == "e" else self.of(progress)

    def due(self, before: Progress, now: Progress) -> bool:
        """Whether progress reached a multiple after `before`, up to `now`."""
        if not self.every:
            return False
        return self.of(now) // self.every > self.of(before) // self.every

    def reached(self, now: Progress) -> bool:
        """Whether a limit is reached; 0 is no limit."""
        return bool(self.every) and self.of(now) >= self.every


def any_due(frequencies: Sequence[Frequency], before: Progress, now: Progress) -> bool:
    """Whether any of the frequencies is due after `before`, up to `now`."""
    return any(frequency.due(before, now) for frequency in frequencies)


@dataclass(frozen=True)
class LogicalEpoch:
    """The length of an epoch, like Marian's --logical-epoch; digits: decimals in the log."""

    length: Frequency
    digits: int = 0

    @classmethod
    def parse(cls, values: Sequence[str]) -> LogicalEpoch:
        """Parse `2e`, `100ku 2`, or nothing for one pass through the text. Raises ValueError."""
        if not values:
            return cls(Frequency(1, "e"))
        length, digits = kinds.logical_epoch(values)
        return cls(Frequency(*length), digits)

    def limit(self, limit: Frequency, *, exceeded: bool) -> Frequency:
        """Convert a limit in epochs to the unit of the length; other limits are unchanged.

        exceeded: whether updates and words have to exceed the limit, as in Marian.
        """
        if limit.unit != "e":
            return limit
        last, unit = limit.every * self.length.every, self.length.unit
        return Frequency(math.floor(last) + 1 if exceeded and unit != "e" else last, unit)

    def number(self, progress: Progress) -> str:
        """The number of the current epoch in the log; whole epochs count from 1, as in Marian."""
        return f"{self.length.counted(progress) / self.length.every:.{self.digits}f}"


@dataclass(frozen=True)
class End:
    """The limits of a training run, any of which ends it."""

    limits: Sequence[Frequency]  # above 0

    def minutes_over(self, seconds: float) -> bool:
        """Whether these seconds of training reach a limit in minutes."""
        now = Progress(seconds=seconds)
        return any(limit.unit == "m" and limit.reached(now) for limit in self.limits)


def duration(seconds: float) -> str:
    """`2d03h`, `1h02m`, `5m30s` or `12s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


@dataclass(frozen=True)
class Interval:
    """Sums since the last logged update, and the running average of the gradient norm."""

    cost: float = 0.0  # nats
    words: int = 0  # target words, including EOS
    sentences: int = 0
    seconds: float = 0.0
    norm: float = 0.0
    last_words: int = field(default=0, metadata=LATER)  # target words of the last update

    def add(
        self, cost: float, norm: float, updates: int, *, words: int, sentences: int, seconds: float
    ) -> Self:
        """Add update number `updates`; a finite norm is averaged as in Marian."""
        weight = 2 / (min(NORM_WINDOW, updates) + 1)
        change = weight * (norm - self.norm) if math.isfinite(norm) else 0.0
        return type(self)(
            self.cost + cost,
            self.words + words,
            self.sentences + sentences,
            self.seconds + seconds,
            self.norm + change,
            words,
        )

    def shown(self) -> Self:
        """The interval after a line was logged, with new sums and the same average."""
        return type(self)(norm=self.norm)

    def mean_cost(self, kind: CostType) -> float:
        """The cost per sentence or word; NaN without any sums."""
        count = self.words if kind == "ce-mean-words" else self.sentences
        return self.cost / count if count else math.nan

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds if self.seconds else 0.0
