"""What changes as a training goes on and is kept beside the weights, and what may not change."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from ...errors import CgruError
from ...options.train import TrainOptions
from ..plan import flag
from .log import Interval
from .progress import Progress

if TYPE_CHECKING:
    from ...corpus.corpus import Corpus
    from ..starting_model import Beginning

# Options that decide on model and data, beside what is compared as it is: structure and text.
_FIXED = (
    "optimizer", "optimizer_params", "optimizer_delay", "mini_batch", "mini_batch_words",
    "mini_batch_fit", "maxi_batch", "maxi_batch_sort", "no_shuffle", "max_length",
    "max_length_crop", "seed", "right_left", "freeze", "fix_embeddings",
)  # fmt: skip


@dataclass
class Course:
    """Where a training is."""

    progress: Progress = field(default_factory=Progress)
    checked: Progress = field(default_factory=Progress)  # validated and saved up to here
    interval: Interval = field(default_factory=Interval)
    nan_in_a_row: int = 0  # updates that were skipped

    def to_json(self) -> dict[str, Any]:
        return {
            "progress": self.progress.to_json(),
            "checked": self.checked.to_json(),
            "interval": self.interval.to_json(),
            "nan_in_a_row": self.nan_in_a_row,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any], path: str) -> Self:
        """The reverse of `to_json`. Raises CgruError, naming the file, for anything else."""
        nan_in_a_row = values.get("nan_in_a_row")
        if type(nan_in_a_row) is not int:
            raise CgruError(f"{path}: not where a training was; restore the file")
        return cls(
            Progress.from_json(values.get("progress"), path),
            Progress.from_json(values.get("checked"), path),
            Interval.from_json(values.get("interval"), path),
            nan_in_a_row,
        )


def identity(
    options: TrainOptions, begun: Beginning, corpus: Corpus, devices: int = 1
) -> dict[str, Any]:
    """What has to stay as it was for a training to go on, by the name it is called in messages."""
    same = {flag(name): getattr(options, name) for name in _FIXED}
    if options.mini_batch_fit:
        same["--workspace"] = options.workspace
        same["number of devices"] = devices  # --workspace is of each
    same["smoothing"] = options.exponential_smoothing > 0
    same["training text"] = corpus.fingerprint
    for name, beside in (("alignments", corpus.alignments), ("weights", corpus.weights)):
        same[name] = beside.fingerprint if beside else "none"
    for place, vocabulary in enumerate(begun.vocabularies, 1):
        same[f"vocabulary {place}"] = vocabulary.fingerprint
    same |= {f"model's {name}": value for name, value in begun.model.structure.as_dict().items()}
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
            f"{path}: this training was begun otherwise: {'; '.join(different)}; train as before, "
            "or another model"
        )


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    """A value in a message; of a fingerprint, enough to tell it from another."""
    text = str(value)
    return f"{text[:8]}..." if len(text) == 64 else text


# Options that each machine may have its own of: devices, and files, whose content is compared.
_OF_A_MACHINE = {
    "config", "cpu_threads", "data_weighting", "device", "devices", "dump_config",
    "embedding_vectors", "guided_alignment", "log", "model", "num_devices", "plot",
    "pretrained_model", "prior_model", "quiet", "source_dataset", "target_dataset", "tensorboard",
    "train_sets", "valid_reference", "valid_script", "valid_sets", "valid_source_dataset",
    "valid_target_dataset", "valid_translation_output", "vocabularies",
}  # fmt: skip


def same_everywhere(options: TrainOptions, identity: Mapping[str, Any]) -> dict[str, Any]:
    """What all workers of a training have to be given alike, by the name it has in messages."""
    values = dataclasses.asdict(options)
    same = {flag(name): values[name] for name in values if name not in _OF_A_MACHINE} | identity
    if options.prior_model:
        try:
            with open(options.prior_model, "rb") as file:
                same["prior"] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CgruError(f"{options.prior_model}: {error.strerror}") from None
    return same
