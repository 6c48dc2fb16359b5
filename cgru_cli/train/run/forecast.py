"""Forecasts of a training run: times from a few updates, quality from the results of recipes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...options.model import LABELLING
from ...options.train import TrainOptions
from .progress import Frequency, Progress, duration

if TYPE_CHECKING:
    from ..plan import TrainingPlan
    from .state import Course

ENOUGH = 10.0  # seconds of timed updates
LEAST = 3  # timed updates
# The defaults with which recipes/docs was measured, see docs/sizes.md: 15.0 BLEU after 1,067
# updates with the fewest pairs, 25.7 BLEU after 1,120 with the most.
_USABLE = 1100  # updates
_MEASURED = range(50_000, 300_001)  # pairs: 59,984 and 291,324 were measured
_AS_MEASURED = {"learn_rate": 0.003, "mini_batch_words": 1000, "type": "cgru", "begins_from": None}


class Text(NamedTuple):
    """The size of the training text: sentence pairs, and target words with EOS."""

    pairs: int
    words: int


@dataclass
class Pace:
    """The speed of training, from all updates but the first, which traces the model.

    The only estimate of times: of an epoch, of its rest, and of the training.
    """

    text: Text
    updates: int = -1
    words: int = 0  # target words, including EOS
    seconds: float = 0.0

    def add(self, words: int, seconds: float) -> None:
        self.updates += 1
        if self.updates:
            self.words, self.seconds = self.words + words, self.seconds + seconds

    @property
    def is_known(self) -> bool:
        return self.seconds >= ENOUGH and self.updates >= LEAST

    def seconds_of(self, frequency: Frequency) -> float:
        """The time that this part of the training takes, without validation."""
        of_word = self.seconds / self.words
        of_unit = {
            "u": self.seconds / self.updates,
            "e": self.text.words * of_word,
            "m": 60.0,
            "t": of_word,
        }
        return frequency.every * of_unit[frequency.unit]


def forecast(pace: Pace, plan: TrainingPlan) -> str:
    """A line about the length of an epoch, and what comes when, counted from the first update."""

    def first(*frequencies: Frequency) -> str:
        times = [pace.seconds_of(one) for one in frequencies if one.every]
        return f"after {duration(min(times))}" if times else "never"

    options, words = plan.options, pace.text.words
    updates = words * pace.updates / pace.words
    parts = [
        f"Expected: {duration(pace.seconds_of(Frequency(1, 'e')))} an epoch "
        f"({words:,} target words, about {updates:,.0f} updates), "
        f"first validation {first(plan.valid) if plan.metrics else 'never'}, "
        f"first save {first(*plan.save)}"
    ]
    if plan.after:
        parts.append(f"end {first(*plan.after)} at the latest")
    if options.has_source and options.type not in LABELLING:
        parts.append(usable(pace, options))
    return "; ".join(parts)


def usable(pace: Pace, options: TrainOptions) -> str:
    """When translations begin to be usable, with the source of the figure."""
    same = all(getattr(options, name) == value for name, value in _AS_MEASURED.items())
    if pace.text.pairs not in _MEASURED or not same:
        return "when translations are usable is not known for these options and this size"
    when = duration(pace.seconds_of(Frequency(_USABLE, "u")))
    return (
        f"translations begin to be usable after about {when} ({_USABLE:,} updates, after which "
        "recipes/docs had 15 to 26 BLEU)"
    )


def shown_left(pace: Pace | None, progress: Progress, limits: Sequence[Frequency]) -> str:
    """The share done of the training, and the time left: `12.3% : ETA 1h02m`; "" without limits.

    pace: None if it is not known yet.
    """
    if not limits:
        return ""
    done = max(limit.of_all(progress) / limit.every for limit in limits)
    times = []
    if pace and pace.updates >= LEAST:
        rests = (Frequency(max(0, n.every - n.of_all(progress)), n.unit) for n in limits)
        times = [pace.seconds_of(rest) for rest in rests]
    return f"{min(1.0, done):.1%}" + (f" : ETA {duration(min(times))}" if times else "")


def shown_epoch(pace: Pace | None, progress: Progress) -> str:
    """The share done of the epoch, and the time left of it: `34.2% of epoch 2, 3m20s left`."""
    shown = f"{min(1.0, progress.share):.1%} of epoch {progress.epoch}"
    if pace and pace.updates >= LEAST:
        rest = max(0.0, 1 - progress.share)
        shown += f", {duration(rest * pace.seconds_of(Frequency(1, 'e')))} left"
    return shown


def shown_validation(pace: Pace | None, plan: TrainingPlan, course: Course) -> str:
    """The time until the next validation: `validation in 3m20s`; "" if unknown, or without one."""
    if not plan.metrics or not pace or pace.updates < LEAST:
        return ""
    seconds, between = map(pace.seconds_of, (plan.valid.rest(course.progress), plan.valid))
    if plan.valid_share:  # those that would exceed their share of the time are left out
        held_back = course.valid_from - course.progress.seconds - seconds
        seconds += between * max(0, math.ceil(held_back / between))
    return f"validation in {duration(seconds)}"
