"""The training loop: updates, with validation, saving and logging between them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..corpus.prefetch import Ahead
from ..errors import CgruError
from ..system.signals import StopRequest
from ..system.typed_json import dataclass_from_json
from .examples import EpochExamples, Example, groups
from .plan import TrainingPlan
from .run.patience import Patience, SavedPatience
from .run.reporter import Reporter
from .run.saving import Saving
from .run.state import Course
from .validation_script import output_of

if TYPE_CHECKING:
    from ..optimization.minimum_risk import Sampler
    from ..optimization.replicas import Replicas
    from ..optimization.step import Outcome, Share, TrainingStep
    from .validation import Validator


FIRST_SIGN = 40.0  # seconds after which a first line is logged, whatever --disp-freq says


@dataclass
class Training:
    """One run of the training loop: its parts, and how far it is."""

    plan: TrainingPlan
    examples: EpochExamples
    step: TrainingStep
    sampler: Sampler | None  # of minimum risk training
    validator: Validator | None  # of worker 0, where there are metrics
    course: Course
    patience: Patience
    reporter: Reporter
    saving: Saving
    stop: StopRequest
    replicas: Replicas
    opening: Sequence[str] = ()  # what the log of a training begins with
    script: Sequence[str] = ()  # a command that is called after every validation
    stop_asked: bool = False  # of any process
    learnt: Sequence[Share] | None = None  # the batch that was learnt from last
    decays: int = 0  # of the learning rate, as far as the log has told of them
    clock: Callable[[], float] = time.perf_counter
    began: float = 0.0  # by the clock, when this process began to train
    counted: float = 0.0  # by the clock, up to when the seconds of progress are counted
    shown: bool = False  # whether this process has logged a line of training

    def run(self) -> None:
        """Update until training ends, a signal asks to stop, or nothing can be learnt any more.

        Raises CgruError where an update or a file fails, or too few costs are finite; Stopped,
        after saving, where a signal ends it.
        """
        log = self.reporter.log
        self.began = self.counted = self.clock()
        with log:
            if self.course.progress.updates:
                self.saving.finish(self.course, self.patience, self.plan.keep)
            else:
                for line in self.opening:
                    log.line(line)
                if not self.plan.metrics:
                    log.line("No validation, and so no early stopping")
            self.decays = self._decays()
            try:
                self._check()
                while not self._finished():
                    self._epoch()
            except _StopAsked:
                saved = self._save()
                self.replicas.barrier()
                log.line(
                    f"Stopped after update {self.course.progress.updates}"
                    + ("; saved" if saved else "; nothing to be saved")
                )
                self.stop.end()
            if self.course.interval.words:
                self._show()
            if not self._save():
                self.saving.give_up(self.course)
            self.reporter.draw()
            self.replicas.barrier()
            log.line("Training finished")

    # -- updates -------------------------------------------------------------------------------

    def _epoch(self) -> None:
        """Train from the next batch to the end of the epoch, or of training."""
        course = self.course
        started = self.clock()
        coming = self.examples.epoch(course.progress.epochs, course.progress.batches)
        with Ahead(coming) as examples:
            for group in groups(examples, self.plan.batches_per_update):
                self._update(group)
                self._check()
                if self._finished():
                    return
            seconds = self.clock() - started
        self.reporter.end_of_epoch(course.progress, waited=examples.waited, seconds=seconds)
        following = course.progress.next_epoch()
        if self.plan.display.due(course.progress, following) and course.interval.words:
            self._show()
        course.progress = following
        if self.plan.schedule.decays_with_epoch(following, self.patience.most_stalled):
            self.patience.decays += 1
        self._tell_of_decays()
        self._check()

    def _update(self, group: list[Example]) -> None:
        """Make one update from the batches of a group, and report it."""
        import tensorflow as tf

        course, plan = self.course, self.plan
        before = course.progress
        if self.step.jit:
            self.reporter.compiling(group)
        started = self.clock()
        sentences = sum(example.batch.sentences for example in group)
        words = sum(example.batch.words for example in group)
        try:
            batches = self._batches(group)
            if not before.updates:
                self.reporter.gradients(before, batches[-1])
            outcome = self.step.update(
                batches,
                divisor=sentences if plan.averages_sentences else words,
                rate=self._rate(),
            )
        except tf.errors.ResourceExhaustedError:
            raise CgruError(
                f"{sentences} pairs of {words:,} target words do not fit into the memory of the "
                "device; lower --mini-batch, or use --mini-batch-fit with --workspace"
            ) from None
        now = self.clock()
        seconds, passed = self._agreed(now - started, now - self.counted)
        self.counted = now
        course.progress = before.update(
            batches=len(group), sentences=sentences, words=words, seconds=passed
        )
        updates = course.progress.updates
        if outcome.applied:
            course.nan_in_a_row = 0
            self.learnt = batches[-1]
            course.interval = course.interval.add(
                cost=outcome.cost, words=words, sentences=sentences, seconds=seconds,
                norm=outcome.norm, updates=updates,
            )  # fmt: skip
        else:
            self._skipped(outcome)
        self._tell_of_decays()
        if plan.display.due(before, course.progress) or updates <= plan.display_first:
            self._show()
        elif not self.shown and now - self.began > FIRST_SIGN:
            self.reporter.first_sign(course.progress, course.interval, self._rate())
            self.shown = True
        else:
            self.reporter.progress(course.progress, course.interval)

    def _agreed(self, *seconds: float) -> list[float]:
        """Worker 0's seconds, by which all decide what is due; notes whether any shall stop."""
        replicas = self.replicas
        mine = seconds if replicas.is_first else [0.0] * len(seconds)
        asked, *agreed = replicas.all_sum([self.stop.asked, *mine])
        self.stop_asked = asked > 0
        return agreed

    def _count_time(self) -> None:
        """Count what has passed since the last update, for limits in minutes."""
        now = self.clock()
        (passed,) = self._agreed(now - self.counted)
        self.counted = now
        progress = self.course.progress
        self.course.progress = dataclasses.replace(progress, seconds=progress.seconds + passed)

    def _batches(self, group: list[Example]) -> list[Sequence[Share]]:
        """Of each batch of an update, the shares of the replicas here, as the objective takes them.

        Those of samples may be more than the group's.
        """
        from ..optimization.objective import Examples

        replicas, progress = self.replicas, self.course.progress
        first = progress.epochs * len(self.examples.corpus) + progress.sentences
        batches: list[Sequence[Share]] = []
        for example in group:
            sentences = example.batch.sentences
            shares: list[Sequence[Share]] = []
            for place in range(replicas.first, replicas.first + replicas.here):
                batch, masks = example.share(place, replicas.count)
                if self.sampler:
                    numbers = range(first + place, first + sentences, replicas.count)
                    rows = -(-sentences // replicas.count)
                    shares.append(self.sampler(batch, masks, numbers, rows))
                else:
                    shares.append([(Examples.of(batch), masks)])
            batches += zip(*shares, strict=True)
            first += sentences
        return batches

    def _skipped(self, outcome: Outcome) -> None:
        """Tell of an update that was not finite; give up where too many in a row were."""
        scale = self.step.loss_scale
        if scale.dynamic and scale.scale > 1:
            return  # float16's scale was too large, and is smaller from here on
        self.course.nan_in_a_row += 1
        self.reporter.skipped(self.course.progress, outcome)
        if self.course.nan_in_a_row >= self.plan.max_nan:
            self.saving.give_up(self.course)

    def _rate(self) -> float:
        return self.plan.schedule.at(self.course.progress, self.patience.decays)

    def _decays(self) -> int:
        return self.plan.schedule.decays(self.course.progress, self.patience.decays)

    def _tell_of_decays(self) -> None:
        """Say where the learning rate has just decayed, as Marian does."""
        if (decays := self._decays()) > self.decays:
            line = self.plan.schedule.decay_line(self.course.progress, self.patience)
            self.reporter.log.line(line)
        self.decays = decays

    def _show(self) -> None:
        """Log a line of the updates since the last one."""
        course = self.course
        self.reporter.training(course.progress, course.interval, self._rate(), self.learnt)
        course.interval = course.interval.shown()
        self.shown = True

    # -- between updates -----------------------------------------------------------------------

    def _check(self) -> None:
        """Validate and save if that became due since the last check; stop if asked to."""
        course, plan = self.course, self.plan
        before, now = course.checked, course.progress
        save = plan.save.due(before, now)
        if plan.metrics and plan.valid.due(before, now):
            if save:  # first, whatever becomes of validation; who goes on from it validates again
                self._save()
            self._validate()
            self._tell_of_decays()
            self._count_time()
            now = course.progress
            save = save or plan.save.due(before, now)
        course.checked = now
        if save:
            self._save(keep=plan.keep)
        self._stop_if_asked()

    def _validate(self) -> None:
        """Validate on worker 0, and send patience, or that it was stopped, to the others."""
        stopped = False
        if self.validator is not None:
            try:
                self._measure(self.validator)
            except _StopAsked:
                stopped = True
            except _TimeIsOver:
                self.reporter.log.line("Validation broken off: the time of --after is over")
        if self.replicas.processes > 1:
            saved = dataclasses.asdict(self.patience.saved())
            saved, stopped = self.replicas.broadcast([saved, stopped])
            self.patience.restore(dataclass_from_json(SavedPatience, saved, "worker 0"))
        if stopped:
            raise _StopAsked

    def _measure(self, validator: Validator) -> None:
        """Measure all metrics; only patience may change the course of training by them."""
        progress = self.course.progress
        if self.script or "valid-script" in self.plan.metrics:
            self.saving.write_validated()
        values = validator.run(
            self.step.weights(), progress.epoch, progress.updates, self._stop_validation_if_asked
        )
        for metric, value in values.items():
            if self.patience.update(metric, value, progress.updates):
                self.saving.write_best(metric)
            self.reporter.validation(progress, value, self.patience.records[metric])
        if self.script:
            self._call_script()
        self.reporter.draw()

    def _call_script(self) -> None:
        """Run the external script; training continues whatever its result."""
        try:
            told = output_of(self.script, self._stop_validation_if_asked)
        except CgruError as error:
            told = str(error)
        for line in filter(str.strip, told.split("\n")):
            self.reporter.log.line(f"[script] {line.rstrip()}")

    def _save(self, keep: int = 0) -> bool:
        return self.saving.save(self.course, self.patience, self.learnt, keep)

    def _finished(self) -> bool:
        done = any(limit.reached(self.course.progress) for limit in self.plan.after)
        return done or self.patience.stop()

    def _stop_if_asked(self) -> None:
        """Raises _StopAsked; workers of several do after the same update."""
        if self.stop_asked or (self.replicas.processes == 1 and self.stop.asked):
            raise _StopAsked

    def _stop_validation_if_asked(self) -> None:
        if self.stop.asked:
            raise _StopAsked
        seconds = self.course.progress.seconds + self.clock() - self.counted
        if self.reporter.end and self.reporter.end.minutes_over(seconds):
            raise _TimeIsOver


class _TimeIsOver(Exception):
    """A limit in minutes is reached while the model is validated."""


class _StopAsked(Exception):
    """A signal asked to stop; raised where the state is consistent."""
