"""Validate a run: measure its model, report the metrics, and save new best models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..validation import COSTS
from ..validation_script import Check, lines_of
from .patience import Patience
from .progress import Progress
from .reporter import Reporter
from .saving import Saving

if TYPE_CHECKING:
    from ...optimization.step import TrainingStep
    from ..validation import Validator

OnValidation = Callable[[int, dict[str, float]], object]


@dataclass(frozen=True)
class Validation:
    """Measures a model on worker 0, reports the metrics, and saves new best models.

    script: a command to run after every validation; called: what to call then.
    """

    validator: Validator
    script: Sequence[str]
    saving: Saving
    reporter: Reporter
    called: OnValidation | None = None

    def look(self, step: TrainingStep, progress: Progress, check: Check) -> None:
        """Report a first look, which counts for nothing else. Raises CgruError."""
        values = self.validator.look(step.weights(), check)
        self.reporter.look(progress, values, self.validator.per_word)
        self.reporter.draw()

    def measure(
        self, step: TrainingStep, progress: Progress, patience: Patience, check: Check
    ) -> None:
        """Compute all metrics; `check` may raise, to stop it. Raises CgruError."""
        saving, reporter = self.saving, self.reporter
        if self.script or "valid-script" in patience.records:
            saving.write(saving.folder.dev)
        values = self.validator.run(step.weights(), progress.epoch, progress.updates, check)
        for metric, value in values.items():
            if metric not in COSTS:
                reporter.translations(self.validator)
            if patience.update(metric, value, progress.updates):
                saving.write(saving.folder.best(metric))
            per_word = self.validator.per_word
            reporter.validation(progress, value, patience.records[metric], per_word)
        if self.script:
            for line in lines_of(self.script, check):
                reporter.log.line(f"[script] {line}")
        reporter.draw()
        if self.called:
            self.called(progress.updates, values)
