"""The state of a run except its weights: its progress, and settings that may not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os.path import isfile
from typing import TYPE_CHECKING, Any

from ...errors import CgruError
from ...formats.model import Model
from ...options.flags import applying, flag
from ...options.scope import Scope
from ...options.train import TrainOptions
from ...system.structured_files import check_no_pipe, sha256
from ...system.typed_json import LATER
from ...text.vocabulary import Vocabulary
from .divergence import CostAverages
from .patience import SavedPatience
from .progress import Interval, Progress

if TYPE_CHECKING:
    from ...corpus.corpus import Corpus

# The names in `identity` that only determine the batches.
_OF_THE_TEXT = """
    training text, alignments, weights, teacher, number of devices, --workspace, --seed,
    --mini-batch, --mini-batch-words, --mini-batch-fit, --maxi-batch, --maxi-batch-sort,
    --no-shuffle, --shuffle-batches, --max-length, --max-length-crop, --optimizer-delay
"""
OF_THE_TEXT = [name.strip() for name in _OF_THE_TEXT.split(",")]
VALIDATION_TEXT = "validation text (see --valid-reset-all)"


@dataclass
class Course:
    """The progress of a training run."""

    progress: Progress = field(default_factory=Progress)
    checked: Progress = field(default_factory=Progress)  # at the last check for what is due
    interval: Interval = field(default_factory=Interval)
    nan_in_a_row: int = 0  # skipped updates
    # progress, in its unit, at which the last warm-up began
    warmup_from: float = field(default=0.0, metadata=LATER)
    validating: float = field(default=0.0, metadata=LATER)  # seconds of all validations
    # seconds of training from which the next validation stays within its share
    valid_from: float = field(default=0.0, metadata=LATER)
    averages: CostAverages = field(default_factory=CostAverages, metadata=LATER)
    validated_at: int = field(default=0, metadata=LATER)  # updates before the last validation
    looked_at: int = field(default=0, metadata=LATER)  # updates before the first look

    def validated(self, seconds: float, share: float) -> Progress:
        """Count a validation that took this many seconds; returns the progress.

        share: the maximum share of the time (0: no limit), which delays the next validation.
        """
        self.progress = replace(self.progress, seconds=self.progress.seconds + seconds)
        self.validating += seconds
        rest = seconds * (1 / share - 1) if share else 0.0
        self.valid_from = self.progress.seconds + rest
        return self.progress

    def diverges(self, cost: float, limits: Sequence[float]) -> str | None:
        """Average the cost of the last update; returns a message if training diverges.

        limits: the values of --throw-on-divergence.
        """
        if not limits:
            return None
        updates = self.progress.updates
        why = self.averages.divergence(updates, limits)
        self.averages = self.averages.add(cost, updates, limits)
        return why

    def has_recorded(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the last update (see `TrainingLog`) was written before the save.

        A resumed run writes the other records again.
        """
        kind, epoch = record.get("type"), record.get("epoch", 0)
        if kind == "valid":
            return (self.checked.updates, self.checked.epoch) >= (self.progress.updates, epoch)
        if kind == "data":  # at the end of an epoch
            return epoch < self.progress.epoch
        if kind in ("train", "gradients"):
            return not self.interval.words
        return True


@dataclass(kw_only=True)
class SavedRun(Course):
    """Everything that a run resumes from, except the arrays of its training step."""

    identity: dict[str, Any]  # see `identity`
    jit: bool  # whether the step is compiled
    patience: SavedPatience
    chosen: dict[str, Any] = field(default_factory=dict, metadata=LATER)  # see `Recorded`
    stated: dict[str, Any] = field(default_factory=dict, metadata=LATER)


def identity(
    options: TrainOptions,
    model: Model,
    vocabularies: Sequence[Vocabulary],
    corpus: Corpus,
    devices: int = 1,
) -> dict[str, Any]:
    """The values that must not change if a training run is to resume, by their names in messages.

    devices: their number, which matters only if the memory of a device determines the batches.
    """
    scope = applying(TrainOptions, Scope.RUN).items()
    same: dict[str, Any] = {flag.name: getattr(options, name) for name, flag in scope}
    if options.mini_batch_fit:
        same |= {"--workspace": options.workspace, "number of devices": devices}
    same["smoothing"] = options.exponential_smoothing > 0
    same["source from its end"] = model.settings.source_reversed
    same |= corpus.fingerprints
    for place, vocabulary in enumerate(vocabularies, 1):
        same[f"vocabulary {place}"] = vocabulary.fingerprint
    same |= {f"model's {name}": value for name, value in asdict(model.structure).items()}
    # lists, as they come back from JSON
    return {name: list(v) if isinstance(v, tuple) else v for name, v in same.items()}


def shared_options(options: TrainOptions) -> dict[str, Any]:
    """The options that must be the same for all workers, by their name in messages.

    Devices and files may differ; the content of files is compared instead. Raises CgruError for a
    prior model that cannot be read.
    """
    same = {flag(TrainOptions, name): value for name, value in options.shared().items()}
    if prior := options.prior_model:
        checkpoint = f"{prior}.data-00000-of-00001"
        path = checkpoint if isfile(checkpoint) else prior
        check_no_pipe(path)
        same["prior"] = sha256(path)
    return same


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], path: str) -> None:
    """Raises CgruError, naming the differences, if model or data differ from before."""

    def shown(value: Any) -> str:
        text = str(value)
        return f"{text[:8]}..." if len(text) == 64 else text  # fingerprints are shortened

    different = [
        f"{name} was {shown(before[name])}, is {shown(value)}"
        for name, value in now.items()
        if name in before and before[name] != value
    ]
    if different:
        raise CgruError(
            f"{path}: this training began with other options or data: {'; '.join(different)}; "
            "restore them, or train another model"
        )
