"""The files that a run saves: its state to resume from, its model, best and earlier models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import CgruError
from ...formats import write_model
from ...formats.model import Model
from ...system.atomic_files import atomic_write
from ...text.vocabulary import Vocabulary
from .folder import RunFolder
from .log import TrainingLog
from .marian_progress import marian_progress
from .patience import Patience
from .state import Course, SavedRun

if TYPE_CHECKING:
    from ...optimization.step import Share, TrainingStep


class Saving:
    """Writes the state and the models of a run; of several workers, worker 0 alone does.

    model: all of it but its arrays, which are those of the step. preprocessing: how raw text is
    prepared for the model, a file that goes with it. updates: those of the last save, 0 if there
    is none. marian_files: of Marian's files beside each model (see `write_model.write`), those
    that are written; with any, its `.progress.yml` as well.
    """

    def __init__(
        self,
        folder: RunFolder,
        model: Model,
        vocabularies: Sequence[Vocabulary],
        preprocessing: Path | None,
        step: TrainingStep,
        identity: Mapping[str, Any],
        jit: bool,
        log: TrainingLog,
        *,
        updates: int = 0,
        writes: bool = True,
        marian_files: Sequence[str] = (),
    ):
        self.folder, self.updates = folder, updates
        self._model, self._vocabularies, self._preprocessing = model, vocabularies, preprocessing
        self._step, self._identity, self._jit = step, identity, jit
        self._log, self._writes, self._marian_files = log, writes, marian_files

    def save(
        self, course: Course, patience: Patience, learnt: Sequence[Share] | None, keep: int = 0
    ) -> bool:
        """State first, then the model that is used, both of the same update; whether it is good.

        A model that has not learnt yet, or gives no finite cost, is not saved. learnt: the batch
        that was learnt from last, None if this process has not learnt yet. keep: how many models
        of earlier updates are kept, this one among them; 0 leaves them alone.
        """
        updates = course.progress.updates
        if not updates:
            return False
        if not self._writes:
            return True  # worker 0 ends them all where it is not
        if not self._is_finite(learnt):
            self._log.line(f"Not saved: the cost after update {updates} is not finite")
            return False
        if keep:  # before the state: after a kill in between it is written again
            self._write(self.folder.kept(updates))
        saved = SavedRun.of(course, patience, self._identity, self._jit)
        self.folder.save(self._step.state(), dataclasses.asdict(saved))
        self.finish(course, patience, keep)
        self.updates = updates
        return True

    def finish(self, course: Course, patience: Patience, keep: int = 0) -> None:
        """Write the files that follow the state in a save; a resumed run writes them again.

        A kill may have come before it.
        """
        if not self._writes:
            return
        self.write_model()
        if self._marian_files:
            with atomic_write(self.folder.beside(".progress.yml")) as file:
                file.write(marian_progress(course.progress, patience))
        if keep:
            self.folder.thin(keep)

    def write_model(self) -> None:
        """Write the present model and all files that it needs."""
        self._write(self.folder.model)

    def write_best(self, metric: str) -> None:
        """Write the present model as the best by a metric."""
        self._write(self.folder.best(metric))

    def write_validated(self) -> None:
        """Write the present model for a script that validates it."""
        self._write(self.folder.dev)

    def give_up(self, course: Course) -> NoReturn:
        """Raise CgruError because nothing can be learnt any more."""
        kept = f"kept as it was after update {self.updates}" if self.updates else "not written"
        count = course.nan_in_a_row
        what = f"{count} updates in a row were" if count else "the cost after the last update is"
        raise CgruError(
            f"{self.folder.model}: {what} not finite (epoch {course.progress.epoch}, update "
            f"{course.progress.updates}); the model is {kept}; try a lower --learn-rate or "
            "--clip-norm"
        )

    def _is_finite(self, learnt: Sequence[Share] | None) -> bool:
        """Whether cost and gradient are finite on the batch that was learnt from last.

        The update itself says so only of the weights before it.
        """
        if learnt is None:
            return self.updates > 0  # as it was saved, if it was
        import tensorflow as tf

        scaled = self._step.loss_scale.dynamic  # a scaled gradient may well be infinite
        for cost, gradients in self._step.gradients(learnt):
            norm = 0.0 if scaled else float(tf.linalg.global_norm(gradients))
            if not (math.isfinite(float(cost)) and math.isfinite(norm)):
                return False
        return True

    def _write(self, path: Path) -> None:
        if not self._writes:
            return
        arrays = self._step.weights()
        write_model.write(
            dataclasses.replace(self._model, path=self.folder.state, arrays=arrays),
            path,
            "npz",
            self._vocabularies,
            force=True,
            preprocessing=self._preprocessing,
            marian_files=self._marian_files,
            keep_same=True,  # of a training that had finished: scripts compare times
        )
