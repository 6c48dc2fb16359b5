"""The training step as a run saved it, or a new one where nothing was saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CgruError
from ...system.typed_json import dataclass_from_json
from .folder import RunFolder
from .patience import Patience
from .state import Course, SavedRun, check_same

if TYPE_CHECKING:
    from ...optimization.replicas import Replicas
    from ...optimization.step import TrainingStep

ADVICE = "restore the file, or remove it and the model to begin anew"


class Resumed(NamedTuple):
    """The parts that a resumed training continues with."""

    step: TrainingStep
    jit: bool  # whether the step is compiled
    course: Course


def resume(
    folder: RunFolder,
    identity: Mapping[str, Any],
    patience: Patience,
    replicas: Replicas,
    *,
    jit: bool | None,
    is_faster_compiled: Callable[[], bool],
    make_step: Callable[[bool], TrainingStep],
) -> Resumed:
    """The step and the course as they were saved, to the bit; new ones where there is no save.

    Worker 0 reads what was saved and tells the others. patience: goes on as it was saved too, but
    what it resets. jit: whether the step is to be compiled; None to keep to what was saved, or to
    ask is_faster_compiled. Raises CgruError for a state that is damaged or of another training.
    """
    path, first = str(folder.state), replicas.is_first
    arrays, values = replicas.run_in_all(lambda: folder.load() if first else None) or ({}, {})
    values = replicas.broadcast(values)

    def read() -> SavedRun | None:
        if not values:
            return None
        saved = dataclass_from_json(SavedRun, values, path, ADVICE)
        check_same(saved.identity, identity, path)
        return saved

    saved = replicas.run_in_all(read)
    if jit is None:
        jit = saved.jit if saved else replicas.broadcast(is_faster_compiled())

    def restored() -> TrainingStep:
        step = make_step(jit)
        if arrays:
            try:
                step.restore(arrays)
            except (KeyError, TypeError, ValueError) as error:
                raise CgruError(f"{path}: not the state of this training ({error})") from None
        return step

    step = replicas.run_in_all(restored)
    if replicas.processes > 1:
        step.restore(replicas.broadcast_arrays(step.state()))
    if saved:
        patience.resume(saved.patience)
    return Resumed(step, jit, saved.course if saved else Course())
