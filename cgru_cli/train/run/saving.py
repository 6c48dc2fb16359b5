"""The files that a run saves: the state to resume from, its model, best and earlier models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import CgruError
from ...formats import read_model, write_model
from .log import TrainingLog
from .patience import Patience
from .state import Course, SavedRun

if TYPE_CHECKING:
    import numpy as np

    from ...optimization.step import Share, TrainingStep
    from ..setup import Setup


class Saving:
    """Writes the state and the models of a run.

    The models have the arrays of the step. identity: of the run and its data. updates: their
    number at the last save, 0 without one.
    """

    def __init__(
        self,
        setup: Setup,
        step: TrainingStep,
        identity: Mapping[str, Any],
        log: TrainingLog,
        *,
        updates: int = 0,
    ):
        self.folder, self.updates = setup.folder, updates
        self._setup, self._step, self._identity = setup, step, identity
        self._log, self._conventions = log, setup.plan.conventions
        self._dialect = self._conventions.dialect(model := setup.model)
        if self._dialect != "npz":
            model.origin = {"transposed": [r.name for r in model.parameters() if r.transposed]}
        self._logs = True  # whether the log names the files, if the program's log does

    def save(
        self,
        course: Course,
        patience: Patience,
        last_batch: Sequence[Share] | None,
        keep: int = 0,
        again: bool = False,
    ) -> bool:
        """Save the state, then the model of the same update; returns whether the model is usable.

        Does not save a model that is not trained yet, or whose cost is not finite. last_batch: None
        if this process has not trained yet. keep: the number of models of different updates to
        keep, including this one; 0: all. again: whether this update was saved and logged before.
        """
        updates = course.progress.updates
        if not updates:
            return False
        if not self._is_finite(last_batch):
            self._log.line(f"Not saved: the cost after update {updates} is not finite")
            return False
        self._logs = not again
        if keep:  # before the state, so that a run killed in between writes it again
            self.write(self.folder.kept(updates))
        saved = SavedRun(
            identity=dict(self._identity),
            jit=self._step.jit,
            patience=patience.saved(),
            **self._setup.plan.recorded._asdict(),
            **vars(course),
        )
        self.folder.save(self._step.state(), dataclasses.asdict(saved))
        self.finish(course, patience, keep)
        self.updates, self._logs = updates, True
        return True

    def resume(self, course: Course, patience: Patience, keep: int = 0) -> None:
        """Rewrite the files that a save writes after the state, in case a kill prevented it.

        A run that Marian saved has no state yet.
        """
        if self.folder.of_marian:
            self.save(course, patience, None)
        else:
            self.finish(course, patience, keep)

    def finish(self, course: Course, patience: Patience, keep: int) -> None:
        """Write the files that a save writes after the state."""
        self.write(self.folder.model, self._best(patience))
        model, step = self._setup.model, self._step
        self._log_lines(self._conventions.write(self.folder, model, step, course, patience))
        if keep:
            self.folder.thin(keep, course.progress.updates)

    def _best(self, patience: Patience) -> Mapping[str, np.ndarray] | None:
        """The arrays of the best model, which Nematus and DL4MT save as MODEL; None without one."""
        record = next(iter(patience.records.values()), None)
        if not self._conventions.saves_best or not record or record.best is None:
            return None
        path = self.folder.best(record.metric)
        return read_model.read(path).arrays if path.exists() else None

    def write(self, path: Path, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        """Write a model, by default with the current arrays, and all files that it needs."""
        if path != self.folder.dev:
            self._log_lines(self._conventions.saving(path))
        model = dataclasses.replace(
            self._setup.model, path=self.folder.state, arrays=dict(arrays or self._step.weights())
        )
        write_model.write(
            model,
            path,
            self._dialect if path.suffix == ".npz" else "nematus-tf",
            self._setup.vocabularies,
            force=True,
            preprocessing=self._setup.texts.preprocessing,
            marian_files=self._conventions.files,
            decoding=self._conventions.decoding,
            settings=self._setup.request.settings if path == self.folder.model else {},
            keep_same=True,  # scripts compare file times after training has finished
        )

    def _log_lines(self, lines: Sequence[str]) -> None:
        for line in lines if self._logs else ():
            self._log.line(line)

    def give_up(self, course: Course, why: str | None = None) -> NoReturn:
        """Raise CgruError because costs are no longer finite, or for another reason."""
        kept = f"kept as it was after update {self.updates}" if self.updates else "not written"
        count = course.nan_in_a_row
        what = f"{count} updates in a row were" if count else "the cost after the last update is"
        why = why or f"{what} not finite"
        raise CgruError(
            f"{self.folder.model}: {why} (epoch {course.progress.epoch}, update "
            f"{course.progress.updates}); the model is {kept}; try a lower --learn-rate or "
            "--clip-norm"
        )

    def _is_finite(self, last_batch: Sequence[Share] | None) -> bool:
        """Whether cost and gradient of the last training batch are finite.

        Computes them again, because the update measured them with the previous weights.
        """
        if last_batch is None:
            return self.updates > 0  # the weights are unchanged since the last save, if any
        import tensorflow as tf

        scaled = self._step.loss_scale.dynamic  # a scaled gradient may be infinite
        for cost, gradients in self._step.gradients(last_batch):
            norm = 0.0 if scaled else float(tf.linalg.global_norm(gradients))
            if not (math.isfinite(float(cost)) and math.isfinite(norm)):
                return False
        return True
