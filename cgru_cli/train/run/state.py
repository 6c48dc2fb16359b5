"""The progress of a training that is saved beside the weights, and what may not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import CgruError
from ...parameters.structure import Structure
from ...text.vocabulary import Vocabulary
from .log import Interval
from .patience import Patience, SavedPatience
from .progress import Progress

if TYPE_CHECKING:
    from ...corpus.corpus import Corpus


@dataclass
class Course:
    """How far a training is."""

    progress: Progress = field(default_factory=Progress)
    checked: Progress = field(default_factory=Progress)  # validated and saved up to here
    interval: Interval = field(default_factory=Interval)
    nan_in_a_row: int = 0  # updates that were skipped

    def has_recorded(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the last update (see `TrainingLog`) was made before this was saved.

        Who goes on from here makes the others again.
        """
        kind, epoch = record.get("type"), record.get("epoch", 0)
        if kind == "valid":
            return (self.checked.updates, self.checked.epoch) >= (self.progress.updates, epoch)
        if kind == "data":  # at the end of an epoch
            return epoch < self.progress.epoch
        if kind in ("train", "gradients"):
            return not self.interval.words
        return True


@dataclass(frozen=True)
class SavedRun:
    """Everything that a run resumes from, except the arrays of its training step."""

    identity: dict[str, Any]  # see `identity`
    jit: bool  # whether the step is compiled
    patience: SavedPatience
    progress: Progress
    checked: Progress
    interval: Interval
    nan_in_a_row: int

    @classmethod
    def of(
        cls, course: Course, patience: Patience, identity: Mapping[str, Any], jit: bool
    ) -> SavedRun:
        return cls(
            identity=dict(identity),
            jit=jit,
            patience=patience.saved(),
            progress=course.progress,
            checked=course.checked,
            interval=course.interval,
            nan_in_a_row=course.nan_in_a_row,
        )

    @property
    def course(self) -> Course:
        """How far the training was."""
        return Course(self.progress, self.checked, self.interval, self.nan_in_a_row)


def identity(
    fixed_options: Mapping[str, Any],
    structure: Structure,
    vocabularies: Sequence[Vocabulary],
    corpus: Corpus,
    devices: int = 1,
) -> dict[str, Any]:
    """Everything that must be the same for a training to resume, by its name in messages.

    fixed_options: see `plan.fixed_options`; devices: how many train together, which matters where
    the memory of each decides on the batches.
    """
    same = dict(fixed_options)
    if "--workspace" in same:
        same["number of devices"] = devices
    same["training text"] = corpus.fingerprint
    for name, beside in (("alignments", corpus.alignments), ("weights", corpus.weights)):
        same[name] = beside.fingerprint if beside else "none"
    for place, vocabulary in enumerate(vocabularies, 1):
        same[f"vocabulary {place}"] = vocabulary.fingerprint
    same |= {f"model's {name}": value for name, value in structure.as_dict().items()}
    return {name: _plain(value) for name, value in same.items()}


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], path: str) -> None:
    """Refuse to go on with another model or other data. Raises CgruError, naming what differs."""
    different = [
        f"{name} was {_shown(before[name])}, is {_shown(value)}"
        for name, value in now.items()
        if name in before and before[name] != value
    ]
    if different:
        raise CgruError(
            f"{path}: this training began with other options or data: {'; '.join(different)}; "
            "train as before, or another model"
        )


def _plain(value: Any) -> Any:
    """A value as it is after a round trip through JSON."""
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    """A value in a message; of a fingerprint, enough to tell it from another."""
    text = str(value)
    return f"{text[:8]}..." if len(text) == 64 else text
