"""`train_model`: training in Python."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, load_model
from ..options.flags import statements
from ..options.keywords import NOT_IN_PYTHON, checked, in_python, lists, takes
from ..options.train import TrainOptions
from ..system.signals import Stopped
from ..system.tensorflow_start import import_tensorflow
from . import job
from .run.validation import OnValidation

if TYPE_CHECKING:

    @dataclass(frozen=True)
    class _Arguments(TrainOptions):
        on_validation: OnValidation | None = None
else:
    _Arguments = TrainOptions

_KNOWN = [*statements(TrainOptions).keys() - NOT_IN_PYTHON - {"dry_run", "curves"}]


@takes(_Arguments)
@lists(TrainOptions, _KNOWN)
def train_model(
    data: str | os.PathLike[str] | None = None,
    /,
    *,
    on_validation: OnValidation | None = None,
    **options: Any,
) -> LoadedModel:
    """Train a model like `cgru train DATA`, and load it; the same call resumes an interrupted run.

    data: a folder written by `prepare`. on_validation: called after each validation with the number
    of updates and the metrics. options: those of `cgru train`, with "_" for "-" in their names,
    such as model="run/model.npz" and after="10e". An interrupt saves the run first. Raises
    CgruError for bad text, vocabularies, models and folders, UsageError for invalid arguments.
    """
    with in_python():
        values = TrainOptions.of(checked(TrainOptions, options, _KNOWN))
        if values.model is None:
            raise UsageError('model: name the file to write, such as "run/model.npz"')
        import_tensorflow()
        try:
            folder = None if data is None else os.fspath(data)
            job.run(values, folder, on_validation, explicit=options)
        except Stopped:
            raise KeyboardInterrupt from None
        return load_model(values.model)
