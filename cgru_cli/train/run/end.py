"""The limits of a training: how much of it is done, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .progress import Frequency, Progress


@dataclass(frozen=True)
class End:
    """The limits of a training, any of which ends it; pairs: sentence pairs of an epoch."""

    limits: Sequence[Frequency]
    pairs: int

    def share(self, progress: Progress) -> float | None:
        """The share, from 0 to 1, done of the limit that comes first; None without limits."""
        done = [self._done(limit, progress) / limit.every for limit in self.limits if limit.every]
        return min(1.0, max(done)) if done else None

    def seconds_left(self, progress: Progress) -> float | None:
        """Seconds to the end at the present speed; None where that is unknown."""
        share = self.share(progress)
        if not share or not progress.seconds:
            return None
        return progress.seconds * (1 - share) / share

    def shown(self, progress: Progress) -> str:
        """`12.3% : ETA 1h02m`, or the part of it that is known."""
        share, seconds = self.share(progress), self.seconds_left(progress)
        if share is None:
            return ""
        return f"{share:.1%}" + ("" if seconds is None else f" : ETA {_duration(seconds)}")

    def minutes_over(self, seconds: float) -> bool:
        """Whether a limit in minutes is reached after so many seconds of training."""
        now = Progress(seconds=seconds)
        return any(limit.unit == "m" and limit.reached(now) for limit in self.limits)

    def _done(self, limit: Frequency, progress: Progress) -> float:
        if limit.unit == "e" and self.pairs:
            return progress.epochs + min(1.0, progress.sentences / self.pairs)
        return limit.of(progress)


def _duration(seconds: float) -> str:
    """`2d03h`, `1h02m`, `5m30s` or `12s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
