"""Resuming a run of cgru, or of Marian, or beginning a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ...errors import CgruError
from ...options.train import TrainOptions
from ...system.typed_json import dataclass_from_json
from .folder import ADVICE, RunFolder
from .marian import MarianRun
from .patience import Patience
from .state import OF_THE_TEXT, VALIDATION_TEXT, Course, SavedRun, check_same

if TYPE_CHECKING:
    from ...optimization.replicas import Replicas
    from ...optimization.step import TrainingStep

_JIT = {"auto": None, "on": True, "off": False}


def resume(
    folder: RunFolder,
    identity: dict[str, Any],
    patience: Patience,
    replicas: Replicas,
    options: TrainOptions,
    *,
    is_faster_compiled: Callable[[], bool],
    make_step: Callable[[bool], TrainingStep],
    of_marian: MarianRun | None = None,
) -> tuple[TrainingStep, Course]:
    """The step and the course exactly as saved, or new ones without a save.

    Worker 0 reads the save and sends it to the others. patience: resumes too, except what it
    resets. With --jit auto, the step is compiled if it was before or, in a new run, if
    is_faster_compiled(). of_marian: a run of Marian to continue instead. Raises CgruError for a
    state that is damaged or belongs to another run.
    """
    path, first, jit = str(folder.state), replicas.is_first, _JIT[options.jit]
    arrays, values = replicas.run_in_all(lambda: folder.load() if first else None) or ({}, {})
    values = replicas.broadcast(values)

    def read() -> SavedRun | None:
        if of_marian:
            return of_marian.saved
        if not values:
            return None
        saved = dataclass_from_json(SavedRun, values, path, ADVICE)
        changing = OF_THE_TEXT * options.no_restore_corpus
        changing += [VALIDATION_TEXT] * options.valid_reset_all
        compared = {n: value for n, value in identity.items() if n not in changing}
        check_same(saved.identity, compared, path)
        if VALIDATION_TEXT in saved.identity:  # keep it even if this run does not validate
            identity.setdefault(VALIDATION_TEXT, saved.identity[VALIDATION_TEXT])
        return saved

    saved = replicas.run_in_all(read)
    if jit is None:
        jit = saved.jit if saved and not of_marian else replicas.broadcast(is_faster_compiled())

    def restored() -> TrainingStep:
        step = make_step(jit)
        if arrays:
            try:
                step.restore(arrays)
            except (KeyError, TypeError, ValueError) as error:
                raise CgruError(f"{path}: not the state of this training ({error})") from None
        if of_marian:
            of_marian.restore(step)
        if saved and options.no_optimizer_reload:
            step.model.assign(step.weights())
            step.reset_optimizer()
        return step

    step = replicas.run_in_all(restored)
    if replicas.processes > 1:
        step.restore(replicas.broadcast_arrays(step.state()))
    if saved is None:
        return step, Course()
    patience.resume(saved.patience)
    if options.no_restore_corpus:
        saved.progress = replace(saved.progress, batches=0, sentences=0, share=0.0)
    return step, Course(*(getattr(saved, field.name) for field in fields(Course)))
