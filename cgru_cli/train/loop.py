"""The training loop: updates, validation, saving and logging."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CgruError
from ..system.side_by_side import Ahead
from ..system.signals import StopRequest
from ..system.typed_json import dataclass_from_json
from .examples import EpochExamples, Example, device_shares, groups, size_of, warmed_up
from .plan import TrainingPlan
from .run.forecast import Pace, Text
from .run.other_workers import NoValidation
from .run.patience import Patience, SavedPatience
from .run.progress import Progress, any_due
from .run.reporter import Reporter
from .run.saving import Saving
from .run.state import Course
from .update import memory_named, update

if TYPE_CHECKING:
    from ..optimization.minimum_risk import Sampler
    from ..optimization.replicas import Replicas
    from ..optimization.step import Outcome, Share, TrainingStep
    from .run.validation import Validation

# The log follows the clock, regardless of --disp-freq: a line after so many seconds, and then
# after a twentieth of the time since the start.
FIRST_LINE, LATER_LINES = 30.0, 0.05
# A first look: after a tenth of an epoch, but not in the first half minute, or after ten minutes.
FIRST_LOOK, NO_LOOK, LATEST_LOOK = 0.1, 30.0, 600.0


@dataclass
class Training:
    """One run of the training loop: its parts and its progress."""

    plan: TrainingPlan
    examples: EpochExamples
    text: Text  # of an epoch
    step: TrainingStep
    sampler: Sampler | None  # for minimum risk training
    validation: Validation | NoValidation
    course: Course
    patience: Patience
    reporter: Reporter
    saving: Saving
    stop: StopRequest
    replicas: Replicas
    opening: Sequence[str] = ()  # the first lines of the log
    clock: Callable[[], float] = time.perf_counter
    # the state of the loop
    stop_asked: bool = False  # whether any process got a signal
    last_batch: Sequence[Share] | None = None  # the last training batch
    decays: int = 0  # decays of the learning rate logged so far
    warms_up_again: bool = False  # after the next update
    began: float = 0.0  # clock time at which this process began to train
    counted: float = 0.0  # clock time up to which progress has counted seconds
    shown: float | None = None  # clock time of the last line of training, None before the first
    expects: bool = False  # whether the log has still to say what to expect

    def run(self) -> None:
        """Train until a limit, patience or a signal ends training.

        Raises CgruError if an update or a file fails, or too few costs are finite; Stopped, after
        saving, if a signal ends training.
        """
        plan = self.plan
        with self.reporter.log:
            self._begin()
            try:
                self._validate_and_save()  # in case a kill prevented it
                while not self._finished():
                    started, progress = self.clock(), self.course.progress
                    epoch = self.examples.epoch(progress.epochs, start=progress.batches)
                    with Ahead(epoch) as batches:
                        following = groups(batches, plan.options.optimizer_delay)
                        group = next(following, [])
                        while group:
                            before, began = self.course.progress, self.clock()
                            share = size_of(group)[0] / self.text.pairs  # of the epoch
                            group = warmed_up(group, plan.batch_share(before))
                            outcome = self._update(group)  # gradients of all batches, then weights
                            self._count(group, outcome, began, share)
                            self._log(before)
                            self._validate_and_save()
                            group = next(following, [])
                            if self._finished() and (group or not plan.conventions.ends_epoch):
                                break
                        else:
                            self._end_epoch(batches.waited, self.clock() - started)
                self._end()
            except _StopAsked:
                what = "saved" if self._save() else "nothing to save"
                self.replicas.barrier()
                updates = self.course.progress.updates
                self.reporter.log.line(f"Stopped after update {updates}; {what}")
                self.stop.end()

    def _begin(self) -> None:
        log = self.reporter.log
        self.began = self.counted = self.clock()
        self.pace = self.reporter.pace = Pace(self.text)
        for line in self.opening:
            log.line(line)
        if self.course.progress.updates:
            self.saving.resume(self.course, self.patience, self.plan.options.keep)
            self.warms_up_again = self.plan.options.lr_warmup_at_reload
        else:
            self.expects = self.plan.conventions.guides
            if not self.plan.metrics:
                log.line("No validation, so no early stopping")
                if self.plan.conventions.guides and not self.plan.can_validate:
                    log.line(
                        "warning: without text to validate on, there is no best model and no "
                        "validation in the learning curve; name text with --valid-sets, or draw "
                        "it with cgru prep --dev-lines"
                    )
        self.decays = self._decays()

    def _finished(self) -> bool:
        limits, progress = self.plan.after, self.course.progress
        return self.patience.stop() or any(limit.reached(progress) for limit in limits)

    def _end_epoch(self, waited: float, seconds: float) -> None:
        """Log the end of the epoch, start the next epoch, and do what is due between epochs.

        waited: seconds of the epoch spent waiting for data.
        """
        course = self.course
        self.reporter.end_of_epoch(course.progress, waited=waited, seconds=seconds)
        before, following = course.progress, course.progress.next_epoch()
        if self.plan.display.due(before, following) and course.interval.words:
            self._show()
        course.progress = following
        if self.plan.schedule.decays_with_epoch(following, self.patience.most_stalled):
            self.patience.decays += 1
        self._log_decay()
        if self._cycle_ends(before):
            self._warm_up_again(silent=True)
        self._validate_and_save()

    def _end(self) -> None:
        plan, log = self.plan, self.reporter.log
        if plan.conventions.validates_at_end:
            log.line("Training finished")
            if self.course.validated_at < self.course.progress.updates:
                self._validate()
        elif self.course.interval.words:
            self._show()
        if not self._save(plan.options.keep if plan.conventions.keeps_last else 0):
            self.saving.give_up(self.course)
        self.reporter.draw()
        self.replicas.barrier()
        if not plan.conventions.validates_at_end:
            log.line("Training finished")

    def _update(self, group: Sequence[Example]) -> Outcome:
        """Update the weights once with the gradients of these batches."""
        progress = self.course.progress
        if self.step.jit:
            self.reporter.compiling(group)
        first = progress.epochs * len(self.examples.corpus) + progress.sentences
        with memory_named(group):
            batches = device_shares(group, self.replicas, self.sampler, first)
            if not progress.updates:
                self.reporter.gradients(progress, batches[-1])
            outcome = update(self.step, self.plan, group, batches, self._rate())
        if outcome.applied:
            self.last_batch = batches[-1]
        return outcome

    def _count(
        self, group: Sequence[Example], outcome: Outcome, began: float, share: float
    ) -> None:
        """Add an update to progress and costs; stop after too many costs in a row are not finite.

        began: the clock time at which the update began; share: the update's part of the epoch.
        """
        course, now = self.course, self.clock()
        size = dict(zip(("sentences", "words"), size_of(group), strict=True))
        seconds, passed = self._agreed(now - began, now - self.counted)
        self.counted = now
        course.progress = course.progress.update(
            batches=len(group), **size, seconds=passed, share=share
        )
        self.pace.add(size["words"], passed)
        if outcome.applied:
            course.nan_in_a_row = 0
            course.interval = course.interval.add(
                outcome.cost, outcome.norm, course.progress.updates, **size, seconds=seconds
            )
            cost = outcome.cost / size["sentences" if self.sampler else "words"]
            if why := course.diverges(cost, self.plan.options.throw_on_divergence):
                self.saving.give_up(course, why)
            return
        scale = self.step.loss_scale
        if scale.dynamic and scale.scale > 1:
            return  # float16's loss scale was too large, and is lower now
        course.nan_in_a_row += 1
        self.reporter.skipped(course.progress, outcome)
        if course.nan_in_a_row >= self.plan.options.max_nan:
            self.saving.give_up(course)

    def _agreed(self, *seconds: float) -> list[float]:
        """Worker 0's seconds, for all workers to use; also records whether any worker must stop."""
        mine = seconds if self.replicas.is_first else [0.0] * len(seconds)
        asked, *agreed = self.replicas.all_sum([self.stop.asked, *mine])
        self.stop_asked = asked > 0
        return agreed

    def _rate(self) -> float:
        course = self.course
        return self.plan.schedule.at(course.progress, self.patience.decays, course.warmup_from)

    def _warm_up_again(self, *, silent: bool = False) -> None:
        if not silent:
            self.reporter.log.line("Restarting learning rate warmup")
        schedule, course = self.plan.schedule, self.course
        course.warmup_from = schedule.counted(schedule.warmup, course.progress)

    def _cycle_ends(self, before: Progress) -> bool:
        """Whether --lr-warmup-cycle repeats the warm-up now."""
        cycle, warmup = self.plan.options.lr_warmup_cycle, self.plan.schedule.warmup
        return cycle and warmup.due(before, self.course.progress)

    def _decays(self) -> int:
        return self.plan.schedule.decays(self.course.progress, self.patience.decays)

    def _log_decay(self) -> None:
        """If the learning rate has just decayed, log it and reset what Marian's options reset."""
        if (decays := self._decays()) > self.decays:
            course, schedule, options = self.course, self.plan.schedule, self.plan.options
            log = self.reporter.log
            log.line(schedule.decay_line(course.progress, self.patience, course.warmup_from))
            if options.lr_decay_reset_optimizer:
                log.line("Resetting optimizer statistics")
                self.step.reset_optimizer()
            if options.lr_decay_repeat_warmup:
                self._warm_up_again()
        self.decays = decays

    def _log(self, before: Progress) -> None:
        """Log the last update if a line is due, or draw the progress line."""
        course, plan = self.course, self.plan
        self._log_decay()
        if self.warms_up_again or self._cycle_ends(before):
            self._warm_up_again(silent=not self.warms_up_again)
        self.warms_up_again = False
        first = course.progress.updates <= plan.options.disp_first
        if first or plan.display.due(before, course.progress):
            self._show()
        elif self._is_late():
            self.reporter.line(course, self._rate())  # the next line counts these updates again
            self.shown = self.counted
        else:
            self.reporter.progress(course)
        if self.expects and self.pace.is_known:
            self.reporter.forecast(self.pace)
            self.expects = False

    def _is_late(self) -> bool:
        """Whether the last line was so long ago that another is due; with --compat, the first."""
        if self.shown is None:
            return self.counted - self.began > FIRST_LINE
        wait = max(FIRST_LINE, LATER_LINES * (self.counted - self.began))
        return self.plan.conventions.guides and self.counted - self.shown > wait

    def _show(self) -> None:
        """Log a line for the updates since the last line."""
        self.reporter.training(self.course, self._rate(), self.last_batch)
        self.course.interval = self.course.interval.shown()
        self.shown = self.counted

    def _looks(self) -> bool:
        """Whether a first look is due: before the first validation, once in a run."""
        course, progress = self.course, self.course.progress
        if course.validated_at or course.looked_at or not self.plan.conventions.guides:
            return False
        early = progress.epochs + progress.share >= FIRST_LOOK and progress.seconds >= NO_LOOK
        return bool(self.plan.metrics) and (early or progress.seconds >= LATEST_LOOK)

    def _look(self) -> None:
        """Look at the model on worker 0; its time counts towards limits in minutes."""
        course, stopped = self.course, False
        try:
            self.validation.look(self.step, course.progress, self._check_during_validation)
        except _StopAsked:
            stopped = True  # a resumed run looks again
        except _TimeIsOver:
            pass
        if self.replicas.processes > 1:
            (stopped,) = self.replicas.broadcast([stopped])
        if stopped:
            raise _StopAsked
        course.looked_at = course.progress.updates
        now = self.clock()
        (passed,) = self._agreed(now - self.counted)
        self.counted = now
        seconds = course.progress.seconds + passed
        course.progress = dataclasses.replace(course.progress, seconds=seconds)

    def _validate_and_save(self) -> None:
        """Validate and save if due; raises _StopAsked."""
        course, plan = self.course, self.plan
        before, now = course.checked, course.progress
        save, saved = any_due(plan.save, before, now), False
        last = plan.conventions.validates_at_end and self._finished()
        due = plan.metrics and plan.valid_is_due(before, course) and not last
        if not due and now.updates and self._looks():
            self._look()
            now = course.progress
            save = save or any_due(plan.save, before, now)
        if due:
            if save:  # before validation, in case it fails; a resumed run validates again
                saved = self._save(plan.options.keep)
            try:
                self._validate()
            except CgruError:  # of a script, say: a resumed run validates again
                if not saved:
                    self._save()
                raise
            self._log_decay()
            time_now = self.clock()  # validation time counts towards limits in minutes
            (passed,) = self._agreed(time_now - self.counted)
            self.counted = time_now
            now = course.validated(passed, plan.valid_share)
            self.reporter.validation_time(course, passed)
            save = save or any_due(plan.save, before, now)
        course.checked = now
        if save:
            self._save(plan.options.keep, again=saved)
        if self.stop_asked or (self.replicas.processes == 1 and self.stop.asked):
            raise _StopAsked  # all workers stop after the same update

    def _save(self, keep: int = 0, *, again: bool = False) -> bool:
        return self.saving.save(self.course, self.patience, self.last_batch, keep, again)

    def _validate(self) -> None:
        """Validate on worker 0, and tell the others its patience, or that a signal stopped it."""
        before, stopped = self.patience.saved(), False
        try:
            self.validation.measure(
                self.step, self.course.progress, self.patience, self._check_during_validation
            )
        except _StopAsked:
            stopped = True
            self.patience.restore(before)  # a resumed run validates again
        except _TimeIsOver:
            self.reporter.log.line("Validation stopped: --after reached")
        if self.replicas.processes > 1:
            saved = dataclasses.asdict(self.patience.saved())
            saved, stopped = self.replicas.broadcast([saved, stopped])
            self.patience.restore(dataclass_from_json(SavedPatience, saved, "worker 0"))
        if stopped:
            raise _StopAsked
        self.course.validated_at = self.course.progress.updates

    def _check_during_validation(self) -> None:
        if self.stop.asked:
            raise _StopAsked
        seconds = self.course.progress.seconds + self.clock() - self.counted
        if self.reporter.end.minutes_over(seconds):
            raise _TimeIsOver


class _TimeIsOver(Exception):
    """Raised if a limit in minutes is reached during validation."""


class _StopAsked(Exception):
    """A signal asked to stop; raised only when the state is consistent."""
