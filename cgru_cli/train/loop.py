"""The loop of a training: updates, and what is validated, saved and said between them."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..corpus.corpus import Corpus
from ..corpus.prefetch import Ahead
from ..errors import CgruError
from ..formats import write_model
from ..options.train import TrainOptions
from ..system import tensorflow_start
from ..system.signals import StopRequest
from .builders import (
    build_board,
    build_gradient_probe,
    build_sampler,
    build_step,
    build_validator,
    faster_compiled,
)
from .dry_run import greeting
from .examples import EpochExamples, Example, groups
from .plan import TrainingPlan
from .run import curves
from .run.folder import RunFolder
from .run.log import TrainingLog
from .run.state import Course, check_same, identity, same_everywhere
from .starting_model import Beginning
from .texts import Texts

if TYPE_CHECKING:
    from ..optimization.replicas import Replicas
    from ..optimization.step import Outcome, Share

COST_TYPES = {"ce-mean": "cross-entropy", "ce-mean-words": "ce-mean-words"}


class Training:
    """One run of the training loop."""

    def __init__(
        self,
        options: TrainOptions,
        plan: TrainingPlan,
        texts: Texts,
        runs: RunFolder,
        begun: Beginning,
        corpus: Corpus,
        stop: StopRequest,
        replicas: Replicas,
    ):
        self.options, self.plan, self.runs, self.stop = options, plan, runs, stop
        self.begun, self.model, self.corpus = begun, begun.model, corpus
        self.replicas = replicas
        self.stop_asked = False  # of any process
        self.preprocessing = texts.preprocessing
        self.course, self.patience = Course(), plan.patience(options)
        self.learnt: list[Share] | None = None  # of the last batch of an update
        self.compiled: set[tuple[int, ...]] = set()  # shapes of batches
        self.identity = identity(options, begun, corpus, replicas.count)
        if replicas.processes > 1:
            replicas.check_same(replicas.together(lambda: same_everywhere(options, self.identity)))
        self._restore()
        self.sampler = build_sampler(self.step, begun, texts, options, self.jit)
        self.saved_updates = self.course.progress.updates
        self.validates = bool(plan.metrics)
        self.validator = self.board = self.probe = None
        log, records = Path(os.devnull), Path(os.devnull)
        if replicas.is_first:
            self.validator = build_validator(plan, options, texts, begun.vocabularies, self.step)
            self.board = build_board(options, runs)
            self.probe = build_gradient_probe(options, self.step)
            log = Path(options.log) if options.log else runs.beside(".log")
            records = runs.records
        self.log = TrainingLog(
            log,
            records,
            resumed=self.course.progress.updates,
            quiet=options.quiet or not replicas.is_first,
        )

    def _restore(self) -> None:
        """Make the step, as it was saved if it was.

        Worker 0 knows what was saved, and tells the others.
        """
        options, path, replicas = self.options, str(self.runs.state), self.replicas
        first = replicas.is_first
        arrays, values = replicas.together(lambda: self.runs.load() if first else None) or ({}, {})
        values = replicas.of_first(values)
        self.jit = values.get("jit", False) if options.jit == "auto" else options.jit == "on"
        if options.jit == "auto" and not values:
            faster = faster_compiled(self.model, options, self.corpus, replicas.count)
            self.jit = replicas.of_first(faster)

        def make() -> None:
            try:
                if values:
                    check_same(values["identity"], self.identity, path)
                self.step = build_step(self.model, options, self.jit, replicas)
                if arrays:
                    self.step.restore(arrays)
                if values:
                    self.course = Course.from_json(values, path)
                    self.patience.restore(values["patience"], path)
            except (KeyError, TypeError, ValueError) as error:
                raise CgruError(f"{path}: not the state of this training ({error})") from None

        replicas.together(make)
        if replicas.processes > 1:
            self.step.restore(replicas.arrays_of_first(self.step.state()))
        # the step has them: what it began with need not stay for the days that follow
        self.model.arrays.clear()
        arrays.clear()
        tensorflow_start.return_freed_memory()

    # -- the loop ------------------------------------------------------------------------------

    def run(self) -> None:
        """Update until training ends, a signal asks to stop, or nothing can be learnt any more."""
        with self.log:
            if self.course.progress.updates:
                self._write_model(self.runs.model)  # a kill may have come before it was written
            else:
                for line in (
                    *self.begun.notes,
                    greeting(self.model, self.corpus, self.options, self.jit, str(self.replicas)),
                ):
                    self.log.line(line)
                if not self.validates:
                    self.log.line("No validation, and so no early stopping")
            try:
                self._check()
                while not self._finished():
                    self._epoch()
            except _Stop:
                saved = self._save()
                self.replicas.part()
                self.log.line(
                    f"Stopped after update {self.course.progress.updates}"
                    + ("; saved" if saved else "; nothing to be saved")
                )
                self.stop.end()
            if self.course.interval.words:
                self._show()
            if not self._save():
                self._give_up()
            self._draw()
            self.replicas.part()
            self.log.line("Training finished")

    def _epoch(self) -> None:
        """From the batch that comes next to the end of the epoch, or of training."""
        course, log = self.course, self.log
        data = EpochExamples.of(
            self.corpus, self.model.structure, self.options, self.jit, self.replicas.count
        )
        begun = time.perf_counter()
        with Ahead(data.epoch(course.progress.epochs, course.progress.batches)) as examples:
            for group in groups(examples, self.options.optimizer_delay):
                self._update(group)
                self._check()
                if self._finished():
                    return
            seconds = time.perf_counter() - begun
            log.record("data", course.progress, waited=examples.waited, of=seconds)
        log.end_of_epoch(course.progress)
        following = course.progress.next_epoch()
        if self.plan.display.due(course.progress, following) and course.interval.words:
            self._show()
        course.progress = following
        self._check()

    def _update(self, group: list[Example]) -> None:
        """One update, from the batches of a group, and what is said of it."""
        import tensorflow as tf

        course, options = self.course, self.options
        before = course.progress
        if self.jit:
            self._say_what_is_compiled(group)
        begun = time.perf_counter()
        sentences = sum(example.batch.sentences for example in group)
        words = sum(example.batch.words for example in group)
        try:
            batches = self._batches(group)
            if not before.updates:
                self._log_gradients(batches[-1])
            outcome = self.step.update(
                batches,
                divisor=sentences if options.cost_type == "ce-mean" else words,
                rate=self._rate(),
            )
        except tf.errors.ResourceExhaustedError:
            raise CgruError(
                f"{sentences} pairs of {words:,} target words do not fit into the memory of the "
                "device; lower --mini-batch, or use --mini-batch-fit with --workspace"
            ) from None
        seconds = self._agreed(time.perf_counter() - begun)
        course.progress = before.update(
            batches=len(group), sentences=sentences, words=words, seconds=seconds
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
        if self.plan.display.due(before, course.progress) or updates <= options.disp_first:
            self._show()
        else:
            self.log.draw(
                f"Ep. {course.progress.epoch} : Up. {updates} : "
                f"{course.interval.words_per_second:.0f} words/s"
            )

    def _agreed(self, seconds: float) -> float:
        """The seconds of worker 0, by which all decide what is due; and who was asked to stop."""
        replicas = self.replicas
        asked, seconds = replicas.total([self.stop.asked, seconds if replicas.is_first else 0.0])
        self.stop_asked = asked > 0
        return seconds

    def _batches(self, group: list[Example]) -> list[list[Share]]:
        """Of each batch of an update, the shares of the replicas here, as the objective takes them.

        Those of samples may be more than the group's.
        """
        from ..optimization.objective import Examples

        replicas, progress = self.replicas, self.course.progress
        first = progress.epochs * len(self.corpus) + progress.sentences
        batches: list[list[Share]] = []
        for batch, masks in group:
            shares = []
            for place in range(replicas.first, replicas.first + replicas.here):
                mine = Example(batch, masks).share(place, replicas.count)
                if self.sampler:
                    numbers = range(first + place, first + batch.sentences, replicas.count)
                    rows = -(-batch.sentences // replicas.count)
                    shares.append(self.sampler(*mine, numbers, rows))
                else:
                    shares.append([(Examples.of(mine.batch), mine.masks)])
            batches += zip(*shares, strict=True)
            first += batch.sentences
        return batches

    def _rate(self) -> float:
        return self.plan.schedule.at(self.course.progress, self.patience.decays)

    def _skipped(self, outcome: Outcome) -> None:
        """Say that an update was not finite; give up where too many in a row were."""
        course, scale = self.course, self.step.loss_scale
        if scale.dynamic and scale.scale > 1:
            return  # float16's scale was too large, and is smaller from here on
        course.nan_in_a_row += 1
        batch = f"epoch {course.progress.epoch}, batch {course.progress.batches}"
        self.log.line(
            f"Update {course.progress.updates} skipped: cost {outcome.cost:g}, gradient norm "
            f"{outcome.norm:g} ({batch})"
        )
        self.log.record(
            "skipped",
            course.progress,
            batch=course.progress.batches,
            cost=outcome.cost,
            norm=outcome.norm,
        )
        if course.nan_in_a_row >= self.options.max_nan:
            self._give_up()

    def _give_up(self) -> None:
        """Raises CgruError: nothing can be learnt any more."""
        saved = self.saved_updates
        kept = f"kept as it was after update {saved}" if saved else "not written"
        count = self.course.nan_in_a_row
        what = f"{count} updates in a row were" if count else "the cost after the last update is"
        raise CgruError(
            f"{self.runs.model}: {what} not finite (epoch {self.course.progress.epoch}, update "
            f"{self.course.progress.updates}); the model is {kept}; try a lower --learn-rate or "
            "--clip-norm"
        )

    def _show(self) -> None:
        """The line of what was learnt since the last one."""
        course, rate = self.course, self._rate()
        kind = "risk" if self.sampler else COST_TYPES[self.options.cost_type]
        self.log.training(course.progress, course.interval, kind, rate, show_rate=True)
        if self.board:
            self.board.training(course.progress, course.interval, kind, rate)
        course.interval = course.interval.shown()
        self._log_gradients(self.learnt)

    def _log_gradients(self, shares: Sequence[Share] | None) -> None:
        """Where that is asked for, how large gradients are at the first replica's share."""
        if self.probe and shares:
            mask = shares[0][0].target_mask
            count = int((mask[:, 0] if self.options.cost_type == "ce-mean" else mask).sum())
            norms = self.probe.norms(*shares[0]).to_json(count)
            self.log.record("gradients", self.course.progress, **norms)

    def _say_what_is_compiled(self, group: list[Example]) -> None:
        for example in group:
            rows, source = example.batch.source_mask.shape
            rows //= self.replicas.count
            shape = (rows, source, example.batch.target.shape[1])
            if shape not in self.compiled:
                self.compiled.add(shape)
                self.log.line(
                    f"Compiling for batches of {rows} pairs, {source} source and {shape[2]} "
                    "target words"
                )

    def _check(self) -> None:
        """Validate and save, where that is due since the last check; stop, if that is asked."""
        course, plan = self.course, self.plan
        before, now = course.checked, course.progress
        if self.validates and plan.valid.due(before, now):
            self._validate()
        course.checked = now
        if plan.save.due(before, now):
            self._save(keep=self.options.keep)
        self._stop_if_asked()

    def _validate(self) -> None:
        """Worker 0's validation; of it all get to know patience, or that it was stopped."""
        stopped = False
        if self.replicas.is_first:
            try:
                self._measure()
            except _Stop:
                stopped = True
        if self.replicas.processes > 1:
            patience, stopped = self.replicas.of_first([self.patience.to_json(), stopped])
            self.patience.restore(patience, str(self.runs.state))
        if stopped:
            raise _Stop

    def _measure(self) -> None:
        """All metrics; nothing of it changes the course of training but patience."""
        progress = self.course.progress
        values = self.validator.run(
            self.step.weights(), progress.epoch, progress.updates, self._stop_validation_if_asked
        )
        for metric, value in values.items():
            if self.patience.update(metric, value, progress.updates):
                self._write_model(self.runs.best(metric))
            self.log.validation(progress, value, self.patience.records[metric])
            if self.board:
                self.board.validation(progress, metric, value)
        self._draw()

    def _draw(self) -> None:
        if self.options.plot:
            curves.draw(self.runs.records, self.runs.model)

    def _finished(self) -> bool:
        done = any(limit.reached(self.course.progress) for limit in self.plan.after)
        return done or self.patience.stop()

    def _stop_if_asked(self) -> None:
        """Raises _Stop; workers of several do after the same update."""
        if self.stop_asked or (self.replicas.processes == 1 and self.stop.asked):
            raise _Stop

    def _stop_validation_if_asked(self) -> None:
        if self.stop.asked:
            raise _Stop

    # -- what is kept --------------------------------------------------------------------------

    def _save(self, keep: int = 0) -> bool:
        """State first, then the model that is used, both of the same update; whether it is good.

        A model that has not learnt yet, or gives no finite cost, is not saved. keep: how many
        models of earlier updates are kept, this one among them; 0 leaves them alone.
        """
        updates = self.course.progress.updates
        if not updates:
            return False
        if not self.replicas.is_first:
            return True  # worker 0 ends them all where it is not
        if not self._is_finite():
            self.log.line(f"Not saved: the cost after update {updates} is not finite")
            return False
        if keep:  # before the state: after a kill in between it is written again
            self._write_model(self.runs.kept(updates))
        self.runs.save(
            self.step.state(),
            {
                "identity": self.identity,
                "jit": self.jit,
                "patience": self.patience.to_json(),
                **self.course.to_json(),
            },
        )
        self._write_model(self.runs.model)
        if keep:
            self.runs.thin(keep)
        self.saved_updates = updates
        return True

    def _is_finite(self) -> bool:
        """Whether cost and gradient are, on a batch that was learnt from last.

        The update itself says so only of the weights before it.
        """
        import tensorflow as tf

        if self.learnt is None:
            return self.saved_updates > 0  # as it was saved, if it was
        dynamic = self.step.loss_scale.dynamic
        for cost, gradients in self.step.gradients(self.learnt):
            norm = 0.0 if dynamic else float(tf.linalg.global_norm(gradients))
            if not (math.isfinite(float(cost)) and math.isfinite(norm)):
                return False
        return True

    def _write_model(self, path: Path) -> None:
        """The model as it is used now, with all that it needs beside it."""
        if not self.replicas.is_first:
            return
        arrays = self.step.weights()
        model = dataclasses.replace(self.model, path=self.runs.state, arrays=arrays)
        write_model.write(
            model,
            path,
            "npz",
            self.begun.vocabularies,
            force=True,
            preprocessing=self.preprocessing,
        )


class _Stop(Exception):
    """A signal asked to stop; raised where the state is consistent."""
