"""How far a training is, and what is due then.

Everything is decided from two moments of progress, never from a counter of its own, so that a
resumed training does what an undisturbed one would have done.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

from ...errors import UsageError
from ...options import kinds
from ...options.kinds import ProgressUnit


@dataclass(frozen=True)
class Progress:
    """How much a training has done."""

    epochs: int = 0  # finished
    updates: int = 0
    batches: int = 0  # taken from the running epoch
    sentences: int = 0  # pairs of the running epoch
    words: int = 0  # target words, EOS counted
    seconds: float = 0.0  # of training, over all runs

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0:
                raise ValueError(f"{name} is below 0")

    @property
    def epoch(self) -> int:
        """The running epoch, counted from 1 as Marian does."""
        return self.epochs + 1

    def update(self, *, batches: int, sentences: int, words: int, seconds: float) -> Self:
        """After one more update, made from so much of the running epoch."""
        return dataclasses.replace(
            self,
            updates=self.updates + 1,
            batches=self.batches + batches,
            sentences=self.sentences + sentences,
            words=self.words + words,
            seconds=self.seconds + seconds,
        )

    def next_epoch(self) -> Self:
        """At the start of the next epoch."""
        return dataclasses.replace(self, epochs=self.epochs + 1, batches=0, sentences=0)


@dataclass(frozen=True)
class Frequency:
    """Every so many updates (u), epochs (e), minutes (m) or target words (t); every 0 is never."""

    every: int | float
    unit: ProgressUnit = "u"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `500`, `500u`, `2e`, `30m`, `10Mt`, `0`. Raises UsageError for anything else."""
        try:
            return cls(*kinds.frequency(text))
        except ValueError as error:
            raise UsageError(f"{text!r}: {error}") from None

    @classmethod
    def parse_all(cls, text: str) -> tuple[Self, ...]:
        """Read several, separated by commas, as Marian's `--after 10e,300ku`."""
        return tuple(cls.parse(part) for part in text.split(","))

    def __str__(self) -> str:
        return f"{self.every}{self.unit}"

    def of(self, progress: Progress) -> float:
        """The progress in this unit."""
        return {
            "u": progress.updates,
            "e": progress.epochs,
            "m": progress.seconds / 60,
            "t": progress.words,
        }[self.unit]

    def due(self, before: Progress, now: Progress) -> bool:
        """Whether a multiple lies behind `before` and not behind `now`."""
        if not self.every:
            return False
        return self.of(now) // self.every > self.of(before) // self.every

    def reached(self, now: Progress) -> bool:
        """Whether a limit is reached; 0 is no limit."""
        return bool(self.every) and self.of(now) >= self.every
