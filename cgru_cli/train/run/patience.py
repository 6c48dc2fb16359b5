"""The best validations, the stalled validations since then, and when to stop."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...options.train import LOWER_IS_BETTER, TrainOptions
from ...system.typed_json import LATER
from .progress import Count


@dataclass(frozen=True)
class Record:
    """The record of one metric; best is None until there is a finite value."""

    metric: str
    best: float | None = None
    best_update: Count = 0  # the update of the best value
    stalled: Count = 0  # validations since the last sufficient improvement

    def updated(self, value: float, updates: int, epsilon: float) -> Record:
        """The record after another value; as in Marian, a gain up to epsilon counts as stalled."""
        gain = math.inf
        if self.best is not None:
            gain = self.best - value if LOWER_IS_BETTER[self.metric] else value - self.best
        stalled = 0 if gain > epsilon else self.stalled + 1
        if math.isfinite(value) and gain > 0:
            return Record(self.metric, value, updates, stalled)
        return dataclasses.replace(self, stalled=self.stalled + 1)


@dataclass(frozen=True)
class SavedPatience:
    """The state of a `Patience`, as saved."""

    decays: Count
    metrics: tuple[Record, ...]
    most_stalled: Count = dataclasses.field(default=0, metadata=LATER)


class Patience:
    """Decides when training stops, like Marian's --early-stopping and --early-stopping-on.

    Training stops when the first metric, any metric or all metrics have not improved
    --early-stopping times in a row (0: never). Each time the first metric has stalled
    --lr-decay-start more times (with --lr-decay-strategy stalled), `decays` grows by one, and the
    learning rate decays.
    """

    def __init__(self, metrics: Sequence[str], options: TrainOptions):
        epsilon = options.early_stopping_epsilon
        if len(epsilon) != len(metrics):
            epsilon = epsilon[:1] * len(metrics)
        self._epsilon = dict(zip(metrics, epsilon, strict=True))
        self.records = {metric: Record(metric) for metric in metrics}
        self._others: list[Record] = []  # of metrics that only earlier parts of the run had
        self.decays = 0
        self.most_stalled = 0  # the most validations in a row without a gain of the first metric
        self._early_stopping, self._on = options.early_stopping, options.early_stopping_on
        stalls_decay = options.lr_decay_strategy == "stalled"
        self._decay_after = options.lr_decay_start[0] if stalls_decay else 0
        self._forgets = options.valid_reset_all
        self._forgets_stalled = options.valid_reset_all or options.valid_reset_stalled

    def update(self, metric: str, value: float, updates: int) -> bool:
        """Record the value of a metric at an update; returns whether it is a new best."""
        before = self.records[metric]
        record = before.updated(value, updates, self._epsilon[metric])
        self.records[metric] = record
        if record.stalled and metric == next(iter(self.records)):
            self.most_stalled = max(self.most_stalled, record.stalled)
            if self._decay_after and record.stalled % self._decay_after == 0:
                self.decays += 1
        return record.best != before.best

    @property
    def stalled(self) -> int:
        """Validations in a row without a new best of the metrics that stopping depends on."""
        counts = [record.stalled for record in self.records.values()] or [0]
        if self._on == "first":
            return counts[0]
        return min(counts) if self._on == "all" else max(counts)

    def stop(self) -> bool:
        """Whether training has stalled for long enough."""
        return 0 < self._early_stopping <= self.stalled

    def saved(self) -> SavedPatience:
        """The state from which `restore` continues."""
        return SavedPatience(
            self.decays, (*self.records.values(), *self._others), self.most_stalled
        )

    def restore(self, saved: SavedPatience) -> None:
        """Continue from a saved state; metrics that it lacks start afresh."""
        self.decays, self.most_stalled = saved.decays, saved.most_stalled
        self.records |= {r.metric: r for r in saved.metrics if r.metric in self.records}
        self._others = [r for r in saved.metrics if r.metric not in self.records]

    def resume(self, saved: SavedPatience) -> None:
        """Restore a saved state, except what --valid-reset-stalled or --valid-reset-all reset."""
        self.restore(saved)
        if self._forgets_stalled:
            self.most_stalled = 0
            others = [] if self._forgets else self._others
            self._others = [dataclasses.replace(record, stalled=0) for record in others]
            for metric, record in self.records.items():
                kept = Record(metric) if self._forgets else record
                self.records[metric] = dataclasses.replace(kept, stalled=0)
