"""The run that training resumes: one of cgru, or of Marian, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ...errors import CgruError
from ...options.train import TrainOptions
from ...parameters.structure import Structure
from ...system.typed_json import dataclass_from_json
from .folder import ADVICE, RunFolder
from .marian import MarianRun
from .patience import Patience
from .state import OF_THE_TEXT, VALIDATION_TEXT, Course, SavedRun, check_same

if TYPE_CHECKING:
    import numpy as np

    from ...optimization.step import TrainingStep

_JIT = {"auto": None, "on": True, "off": False}


@dataclass
class EarlierRun:
    """The content of the files of the run that training resumes; empty for a new run.

    path: the file of its state, for messages; values, arrays: its content; marian: the run if
    Marian saved it last.
    """

    path: str
    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    marian: MarianRun | None = None

    @classmethod
    def read(cls, folder: RunFolder, *, first: bool) -> EarlierRun:
        """Read the state; on workers other than the first only its values.

        Raises CgruError for a damaged state.
        """
        arrays, values = folder.load() or ({}, {})
        return cls(str(folder.state), values, arrays if first else {})

    def read_marian(self, folder: RunFolder, structure: Structure, options: TrainOptions) -> None:
        """Read Marian's files if Marian saved last. Raises CgruError like `MarianRun.read`."""
        if folder.of_marian:
            self.marian = MarianRun.read(folder, structure, options)

    def jit(self, options: TrainOptions) -> bool | None:
        """Whether the step is compiled: by option, or as before; None for a new run."""
        jit = _JIT[options.jit]
        return bool(self.values.get("jit")) if jit is None and self.values else jit

    def check(self, identity: dict[str, Any], options: TrainOptions) -> SavedRun | None:
        """The saved values, None for a new run.

        Raises CgruError for a state that is damaged or belongs to another run.
        """
        if self.marian:
            return self.marian.saved
        if not self.values:
            return None
        saved = dataclass_from_json(SavedRun, self.values, self.path, ADVICE)
        changing = OF_THE_TEXT * options.no_restore_corpus
        changing += [VALIDATION_TEXT] * options.valid_reset_all
        compared = {name: value for name, value in identity.items() if name not in changing}
        check_same(saved.identity, compared, self.path)
        if VALIDATION_TEXT in saved.identity:  # keep it even if this run does not validate
            identity.setdefault(VALIDATION_TEXT, saved.identity[VALIDATION_TEXT])
        return saved

    def resume(
        self,
        identity: dict[str, Any],
        patience: Patience,
        options: TrainOptions,
        make_step: Callable[[], TrainingStep],
    ) -> tuple[TrainingStep, Course]:
        """The step and the course exactly as saved, or new ones; forgets the arrays.

        patience: resumes too, except what it resets. Raises CgruError as `check`.
        """
        saved, step = self.check(identity, options), make_step()
        if self.arrays:
            try:
                step.restore(self.arrays)
            except (KeyError, TypeError, ValueError) as error:
                raise CgruError(f"{self.path}: not the state of this training ({error})") from None
        if self.marian:
            self.marian.restore(step)
        self.arrays, self.marian = {}, None
        if saved is None:
            return step, Course()
        if options.no_optimizer_reload:
            step.model.assign(step.weights())
            step.reset_optimizer()
        patience.resume(saved.patience)
        if options.no_restore_corpus:
            saved.progress = replace(saved.progress, batches=0, sentences=0, share=0.0)
        return step, Course(*(getattr(saved, field.name) for field in fields(Course)))
