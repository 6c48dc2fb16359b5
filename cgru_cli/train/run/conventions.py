"""How a training run logs, ends and saves: as in cgru, or as in the program of --compat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...formats.model import Model
from ...options.train import TrainOptions
from ...text.vocabulary import Vocabulary
from .folder import RunFolder
from .patience import Patience
from .state import Course

if TYPE_CHECKING:
    from ...optimization.step import TrainingStep


class Conventions:
    """The conventions of cgru; subclasses have those of programs whose scripts read log and files.

    ends_epoch: whether an epoch that ends together with training is logged as ended;
    validates_at_end: whether the last validation follows the last update even if it is not due;
    times_validation: whether the log has the time of validations; saves_best: whether MODEL is the
    best model instead of the last; keeps_last: whether --keep also counts the last model.
    """

    ends_epoch = True
    validates_at_end = False
    times_validation = True
    saves_best = False
    keeps_last = False

    def __init__(self, options: TrainOptions):
        self.options = options

    @property
    def guides(self) -> bool:
        """Whether the log follows the clock, says what to expect, and has a first look."""
        return not self.options.compat

    def opening(
        self,
        line: str,
        notes: Sequence[str],
        vocabularies: Sequence[Vocabulary],
        settings: Mapping[str, Any],
    ) -> list[str]:
        """The first lines of the log: the notes, and a line about model and text.

        settings: the options in the program's names.
        """
        return [*notes, line]

    def update(self, line: str, rate: float, share: str) -> str:
        """The line about an update with its learning rate and the share of the training done."""
        return f"{line} : L.r. {rate:.4e}{share}"

    def saving(self, path: Path) -> list[str]:
        """Lines of the log before a model is written."""
        return []

    @property
    def files(self) -> Sequence[str]:
        """Suffixes of files that the program reads beside a model."""
        return ()

    @property
    def decoding(self) -> dict[str, Any]:
        """Values in these files that follow from training options."""
        return {}

    def dialect(self, model: Model) -> str:
        """The dialect of the `.npz` files."""
        return "npz"

    def write(
        self,
        folder: RunFolder,
        model: Model,
        step: TrainingStep,
        course: Course,
        patience: Patience,
    ) -> list[str]:
        """Write the files with which the program continues the run; returns lines for the log."""
        return []


class NematusConventions(Conventions):
    """The conventions of Nematus and DL4MT."""

    saves_best = True


class NematusTfConventions(NematusConventions):
    """The conventions of Nematus-TF."""

    keeps_last = True
