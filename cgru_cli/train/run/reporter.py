"""Reports of a training run: log lines as in Marian, records, TensorBoard's files, pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import curves
from .forecast import Pace, forecast, shown_epoch, shown_left, shown_validation
from .log import TrainingLog
from .patience import Record
from .progress import End, Progress

if TYPE_CHECKING:
    from ...optimization.gradient_norms import GradientProbe
    from ...optimization.step import Outcome, Share
    from ..examples import Example
    from ..setup import Setup
    from ..validation import Validator
    from .state import Course
    from .tensorboard import Summaries

_BAR = 10  # characters of the progress bar


class Reporter:
    """Reports a training run in the ways that its options ask for.

    board: TensorBoard's files; probe: measures gradients for the records; devices: the number of
    devices that share a batch.
    """

    def __init__(
        self,
        log: TrainingLog,
        setup: Setup,
        *,
        board: Summaries | None = None,
        probe: GradientProbe | None = None,
        devices: int = 1,
    ):
        self.log, self._plan, self._folder = log, setup.plan, setup.folder
        self.end = End(self._plan.after)
        self._board, self._probe, self._devices = board, probe, devices
        self._compiled: set[tuple[int, int, int]] = set()  # shapes of batches
        self._updates = 0  # progress at the last line
        self.pace: Pace | None = None  # of this process

    def training(
        self, course: Course, rate: float, last_batch: Sequence[Share] | None = None
    ) -> None:
        """Report the updates since the last line; rate: the learning rate of the next update."""
        progress, interval, kind = course.progress, course.interval, self._plan.cost_type
        self.line(course, rate)
        cost, values = interval.mean_cost(kind), {"words_per_second": interval.words_per_second}
        values |= {"gradient_norm": interval.norm, "learning_rate": rate}
        of_costs = {"cost_type": kind, "cost": cost, "seconds": interval.seconds}
        if kind == "cross-entropy":  # per sentence, so it depends on lengths
            of_costs["cost_per_word"] = interval.mean_cost("ce-mean-words")
        self.log.record("train", progress, **of_costs, **values)
        if self._board:
            named = {f"train/{name.replace('_', ' ')}": value for name, value in values.items()}
            self._board.write(progress.updates, {f"train/{kind}": cost, **named})
        if last_batch:
            self.gradients(progress, last_batch)

    def line(self, course: Course, rate: float) -> None:
        """Log the updates since the last line, without a record."""
        plan, progress, interval = self._plan, course.progress, course.interval
        if progress.updates == self._updates:
            return  # the first line, logged early, has reported these updates
        self._updates = progress.updates
        labels = ""
        if plan.options.disp_label_counts:
            count = interval.words if plan.cost_type == "ce-mean-words" else interval.sentences
            labels = f"* {count:,} @ {interval.last_words:,} after {progress.words:,} "
        line = (
            f"Ep. {plan.logical_epoch.number(progress)} : Up. {progress.updates}"
            f" : Sen. {progress.sentences:,} : Cost {interval.mean_cost(plan.cost_type):.8f} "
            f"{labels}: Time {interval.seconds:.2f}s : {interval.words_per_second:.2f} words/s"
            f" : gNorm {interval.norm:.4f}"
        )
        self.log.line(plan.conventions.update(line, rate, self._share_done(progress)))

    def progress(self, course: Course) -> None:
        """Draw the progress bar of the epoch on a terminal; the next call overwrites it."""
        progress, interval = course.progress, course.interval
        done = min(_BAR, int(progress.share * _BAR))
        parts = [  # the first ones fit into 80 columns
            f"[{'#' * done}{'-' * (_BAR - done)}] {shown_epoch(self.pace, progress)}",
            shown_validation(self.pace, self._plan, course),
            f"Cost {interval.mean_cost(self._plan.cost_type):.4f}",
            f"{interval.words_per_second:.0f} words/s",
            f"Up. {progress.updates}",
            shown_left(self.pace, progress, self.end.limits),
        ]
        self.log.draw(" : ".join(filter(None, parts)))

    def _share_done(self, progress: Progress) -> str:
        """The share done, and the time left, of the epoch and of the training if it has limits."""
        shown = shown_left(self.pace, progress, self.end.limits)
        guides = self._plan.conventions.guides
        epoch = f" : {shown_epoch(self.pace, progress)}" if guides else ""
        return f"{epoch} : {shown}" if shown else epoch

    def forecast(self, pace: Pace) -> None:
        """Log what to expect, from the first updates."""
        self.log.line(forecast(pace, self._plan))

    def look(self, progress: Progress, values: Mapping[str, float], per_word: float | None) -> None:
        """Report a first look; per_word: its cross-entropy in nats per word, if measured."""
        for metric, value in values.items():
            self.log.line(
                f"[look] Ep. {self._plan.logical_epoch.number(progress)} : Up. {progress.updates}"
                f" : {metric} : {value:.6g} : a first look, not counted"
            )
            self.log.record("look", progress, **_measured(metric, value, per_word))

    def gradients(self, progress: Progress, shares: Sequence[Share]) -> None:
        """Record the norms of the first replica's gradients, with --log-gradients."""
        if self._probe is None:
            return
        examples, masks = shares[0]
        words = examples.target_mask
        counted = words if self._plan.cost_type == "ce-mean-words" else words[:, 0]
        norms = self._probe.norms(examples, masks).to_json(int(counted.sum()))
        self.log.record("gradients", progress, **norms)

    def skipped(self, progress: Progress, outcome: Outcome) -> None:
        """Report an update whose cost or gradient was not finite."""
        self.log.line(
            f"Update {progress.updates} skipped: cost {outcome.cost:g}, gradient norm "
            f"{outcome.norm:g} (epoch {progress.epoch}, batch {progress.batches})"
        )
        self.log.record(
            "skipped", progress, batch=progress.batches, cost=outcome.cost, norm=outcome.norm
        )

    def compiling(self, group: Sequence[Example]) -> None:
        """Log new shapes of batches, because compiling them takes a while."""
        for example in group:
            rows, source = example.batch.source_mask.shape
            rows //= self._devices
            shape = (rows, source, example.batch.target.shape[1])
            if shape not in self._compiled:
                self._compiled.add(shape)
                self.log.line(
                    f"Compiling for batches of {rows} pairs, {source} source and {shape[2]} "
                    "target words"
                )

    def end_of_epoch(self, progress: Progress, *, waited: float, seconds: float) -> None:
        """Log the end of an epoch; progress does not count the epoch yet.

        waited: seconds of the epoch spent waiting for data.
        """
        self.log.record("data", progress, waited=waited, of=seconds)
        self.log.line(f"Seen {progress.sentences:,} samples")
        following = progress.next_epoch()
        number = self._plan.logical_epoch.number(following)
        self.log.line(f"Starting data epoch {following.epoch} in logical epoch {number}")

    def translations(self, validator: Validator) -> None:
        """Log a sample of the last validation's translations, once, with --disp-translations."""
        if self._plan.options.disp_translations and (texts := validator.translated):
            self.log.line("Translating validation set...")
            for number in (*range(5), *(5 * 2**i for i in range(len(texts).bit_length()))):
                if number < len(texts):
                    self.log.line(f"Best translation {number} : {texts[number]}")
            self.log.line(f"Total translation time: {validator.seconds:.5f}s")
        validator.translated = []

    def validation(
        self, progress: Progress, value: float, record: Record, per_word: float | None = None
    ) -> None:
        """Report the value of a metric; the record already includes it.

        per_word: the cross-entropy in nats per word, if it was measured.
        """
        outcome = "new best"
        if record.stalled:
            best = math.nan if record.best is None else record.best
            outcome = f"stalled {record.stalled} times (last best: {best:.6g})"
        self.log.line(
            f"[valid] Ep. {self._plan.logical_epoch.number(progress)} : Up. {progress.updates}"
            f" : {record.metric} : {value:.6g} : {outcome}",
            of_validation=True,
        )
        self.log.record(
            "valid",
            progress,
            **_measured(record.metric, value, per_word),
            new_best=record.best_update == progress.updates,
            best=record.best,
            stalled=record.stalled,
        )
        if self._board:
            self._board.write(progress.updates, {f"valid/{record.metric}": value})

    def validation_time(self, course: Course, seconds: float) -> None:
        """Log the time of a validation, and the share of all validations in the training time."""
        if self._plan.conventions.times_validation:
            share = course.validating / max(course.progress.seconds, 1e-9)
            limit = f" (limit {self._plan.valid_share:.0%})" if self._plan.valid_share else ""
            self.log.line(f"Validation took {seconds:.1f}s; {share:.1%} of the time so far{limit}")

    def draw(self) -> None:
        """Draw the learning curves so far, with --plot."""
        if self._plan.options.plot:
            curves.draw(self._folder.records, self._folder.model)


def _measured(metric: str, value: float, per_word: float | None) -> dict[str, Any]:
    """The fields of a record; the cross-entropy of a sentence also per word, as in training."""
    more = {"cost_per_word": per_word} if metric == "cross-entropy" and per_word else {}
    return {"metric": metric, "value": value, **more}
