"""The parts of the loop that do nothing: worker 0 logs, saves and validates for all workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .log import TrainingLog
from .reporter import Reporter
from .saving import Saving
from .state import Course


def no_log() -> TrainingLog:
    """A log that is not shown."""
    return TrainingLog(Path(os.devnull), Path(os.devnull), quiet=True)


class NoReporter(Reporter):
    """A reporter without a log and pictures."""

    def draw(self) -> None:
        pass


class NoSaving(Saving):
    """Writes no files."""

    def save(self, course: Course, *_: Any, **__: Any) -> bool:
        """Whether there is a model to save; worker 0 ends all workers if it is unusable."""
        return course.progress.updates > 0

    def resume(self, *_: Any) -> None:
        pass


class NoValidation:
    """Measures nothing."""

    def measure(self, *_: Any) -> None:
        pass

    def look(self, *_: Any) -> None:
        pass
