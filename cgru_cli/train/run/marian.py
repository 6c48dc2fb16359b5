"""Marian's log and files of a run; cgru and Marian continue each other's runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import parsing
from ...formats import marian_optimizer, read_model
from ...formats.capabilities import cannot_hold
from ...formats.marian_optimizer import MarianOptimizer
from ...formats.model import Model
from ...formats.yaml_cpp import block
from ...options.train import TrainOptions
from ...parameters.parameter import MARIAN
from ...parameters.structure import Structure
from ...system.atomic_files import atomic_write
from ...system.structured_files import read_yaml
from ...system.typed_json import dataclass_from_json
from ...text.vocabulary import Vocabulary
from .conventions import Conventions
from .divergence import CostAverages
from .folder import WRITTEN_BY_CGRU, RunFolder
from .learning_rate import Schedule
from .patience import Patience, Record, SavedPatience
from .progress import Frequency, Interval, Progress
from .state import Course, SavedRun, check_same

if TYPE_CHECKING:
    from ...optimization.step import TrainingStep

BETAS = 0.9, 0.999  # Adam's


@dataclasses.dataclass(frozen=True)
class MarianRun:
    """A run that Marian saved; optimizer: None if only the weights are known."""

    saved: SavedRun
    model: Model
    optimizer: MarianOptimizer | None

    @classmethod
    def read(cls, folder: RunFolder, structure: Structure, options: TrainOptions) -> MarianRun:
        """Read Marian's files. Raises CgruError for damaged files, or files of another model."""
        model = read_model.read(folder.model)
        before, now = map(_compared, (model.structure, structure))
        check_same(before, now, str(folder.model))
        optimizer = None
        if marian_optimizer.is_known(model) and folder.marian_optimizer.exists():
            optimizer = marian_optimizer.read(folder.marian_optimizer, model, _betas(options))
        values = read_yaml(folder.marian_progress)
        with parsing(folder.marian_progress, "not the progress of a training by Marian"):
            saved = dataclasses.asdict(_saved(values, options.lr_decay))
        return cls(dataclass_from_json(SavedRun, saved, folder.marian_progress), model, optimizer)

    def restore(self, step: TrainingStep) -> None:
        """Set the weights and the optimizer of a new step to those of the run."""
        optimizer = self.optimizer or MarianOptimizer(self.model.arrays, {})
        step.model.assign(optimizer.weights)
        for kind, variables in step.sums().items():
            if arrays := optimizer.sums.get(kind):
                for name, variable in variables.items():
                    variable.assign(arrays[name])
        step.updates.assign(self.saved.progress.updates)
        if self.optimizer:
            updates = optimizer.updates
            step.optimizer.iterations.assign(step.updates if updates is None else updates)


def _compared(s: Structure) -> dict[str, Any]:
    """The structure without the fields that have no effect on models of one level."""
    one_level = s.encoder_depth == s.decoder_depth == 1
    names = s.as_dict().keys() - ({"encoder", "residual"} if one_level else set())
    return {f"model's {name}": value for name, value in s.as_dict().items() if name in names}


def _saved(values: Mapping[str, Any], decay: float) -> SavedRun:
    """The content of `.progress.yml`; decay: the factor by which the learning rate decays."""
    updates, factor = values["batches"], values["eta-factor"]
    progress = Progress(
        epochs=values["epochs"] - 1,
        updates=updates,
        batches=values["batches-epoch"],
        sentences=values["samples"],
        words=values["labels-total"],
    )
    interval = Interval(
        cost=float(values["cost-sum"]),
        words=int(values.get("cost-count", 0)),  # since Marian 1.8
        sentences=values["disp-samples"],
        norm=float(values.get("gradient-norm-avg", 0)),  # since Marian 1.11
    )
    records = tuple(
        Record(metric, float(of["last-best"]), updates, of["stalled"])
        for metric, of in (values["validators"] or {}).items()
    )
    decays = round(math.log(factor) / math.log(decay)) if 0 < decay < 1 else 0
    patience = SavedPatience(decays, records, values["stalled-max"])
    warmup_from = float(Frequency.parse(values["warmup-start"]).every)
    slow, fast, variance = (
        float(values.get(f"loss-{name}", 0)) for name in ("avg-slow", "avg-fast", "var-slow")
    )
    course = Course(
        progress,
        progress,
        interval,
        warmup_from=warmup_from,
        averages=CostAverages(slow, fast, variance),
        validated_at=updates,
    )
    return SavedRun(**vars(course), identity={}, jit=False, patience=patience)


class MarianConventions(Conventions):
    """Marian's log, whose lines scripts read, and its files beside the model."""

    ends_epoch = False
    validates_at_end = True
    times_validation = False

    def opening(
        self,
        line: str,
        notes: Sequence[str],
        vocabularies: Sequence[Vocabulary],
        settings: Mapping[str, Any],
    ) -> list[str]:
        lines = [f"[config] {line}" for line in block(dict(sorted(settings.items()))).splitlines()]
        lines.append(f"Synced seed {self.options.seed}")
        for number, vocabulary in enumerate(vocabularies):
            lines.append(f"[data] Loading vocabulary from {vocabulary.path}")
            lines.append(
                f"[data] Setting vocabulary size for input {number} to {vocabulary.size:,}"
            )
        return [*lines, *notes, line.replace("Training", "[training]", 1), "Training started"]

    def update(self, line: str, rate: float, share: str) -> str:
        return super().update(line, rate, "") if self.options.lr_report else line

    def saving(self, path: Path) -> list[str]:
        return [f"Saving model weights and runtime parameters to {path}"]

    @property
    def files(self) -> Sequence[str]:
        """Marian's decoder configuration, and amun's if amun can read the model."""
        amun = self.options.type in ("amun", "nematus")
        return (".decoder.yml", ".amun.yml") if amun else (".decoder.yml",)

    @property
    def decoding(self) -> dict[str, Any]:
        size = self.options.valid_mini_batch
        return {
            "relative-paths": self.options.relative_paths,
            "mini-batch": size,
            "maxi-batch": 100 if size > 1 else 1,
            "maxi-batch-sort": "src" if size > 1 else "none",
        }

    def dialect(self, model: Model) -> str:
        """Marian's, if it can hold the model."""
        dialect = f"marian-{self.options.type.replace('lm', 's2s')}"
        holds = dialect in MARIAN and not cannot_hold(model.structure, dialect)
        return dialect if holds and model.one_direction else "npz"

    def write(
        self,
        folder: RunFolder,
        model: Model,
        step: TrainingStep,
        course: Course,
        patience: Patience,
    ) -> list[str]:
        lines = []
        if (dialect := self.dialect(model)) != "npz":
            self._write_optimizer(folder.marian_optimizer, model, dialect, step)
            files = f"{folder.model} and {folder.marian_optimizer}"
            checkpoint = f"[training] Saving training checkpoint to {files}"
            lines = ["Saving Adam parameters", checkpoint]
        self.write_progress(folder, course, patience)
        return lines

    def write_progress(self, folder: RunFolder, course: Course, patience: Patience) -> None:
        """Write Marian's `.progress.yml`.

        As in Marian (src/training/training_state.h), epochs count the current epoch, and words are
        target words with EOS. Marian's random numbers will restart from the seed.
        """
        import yaml

        progress, interval, records = course.progress, course.interval, patience.records
        first = next(iter(records.values()), None)
        decay, schedule = self.options.lr_decay, Schedule(self.options)
        generator = np.random.RandomState(self.options.seed % 2**32).get_state(legacy=False)[
            "state"
        ]
        numbers = " ".join(map(str, [*generator["key"].tolist(), generator["pos"]]))
        values = {
            "epochs": progress.epoch,
            "batches": progress.updates,
            "batches-epoch": progress.batches,
            "samples": progress.sentences,
            "labels-total": progress.words,
            "prev-labels-total": progress.words,
            "prev-batches": progress.updates,
            "prev-epochs": progress.epoch,
            "stalled": first.stalled if first else 0,
            "stalled-max": patience.most_stalled,
            "validator": first.metric if first else "",
            "validators": {
                name: {"last-best": record.best, "stalled": record.stalled}
                for name, record in records.items()
                if record.best is not None
            },
            "reset": False,
            "eta": schedule.at(progress, patience.decays, course.warmup_from),
            "eta-factor": decay ** schedule.decays(progress, patience.decays),
            "warmup-start": f"{course.warmup_from:.0f}{schedule.warmup.unit}",
            "cost-sum": interval.cost,
            "cost-count": interval.words,
            "disp-updates": 0,
            "disp-samples": interval.sentences,
            "disp-words": interval.words,
            "loss-avg-slow": course.averages.slow,
            "loss-avg-fast": course.averages.fast,
            "loss-var-slow": course.averages.variance,
            "gradient-norm-avg": interval.norm,
            "gradient-norm-var": 0,
            "log-gradient-norm-avg": 0,
            "log-gradient-norm-var": 0,
            "seed-batch": numbers,
            "seed-corpus": numbers,
        }
        text = yaml.safe_dump(values, sort_keys=False, width=math.inf)
        with atomic_write(folder.marian_progress) as file:
            file.write(WRITTEN_BY_CGRU + text.encode())

    def _write_optimizer(self, path: Path, model: Model, dialect: str, step: TrainingStep) -> None:
        """Write Marian's optimizer file, if its format is known for this model."""
        from ...network.keras_model import array_of

        if self.options.optimizer == "adamw" or not marian_optimizer.is_known(model):
            return
        weights = step.model.arrays()
        zeros = {
            name: np.zeros_like(array) for name, array in weights.items()
        }  # for frozen parameters
        sums = {
            kind: zeros | {name: array_of(variable) for name, variable in variables.items()}
            for kind, variables in step.sums().items()
        }
        if smoothed := sums.get("exp_smoothing"):
            smoothed |= step.weights()  # including frozen parameters
        updates = int(step.optimizer.iterations) if "adam_mt" in sums else None
        state = MarianOptimizer(weights, sums, updates)
        marian_optimizer.write(path, model, dialect, state, _betas(self.options))


def _betas(options: TrainOptions) -> tuple[float, float]:
    first, second, *_ = (*options.optimizer_params, *BETAS[len(options.optimizer_params) :])
    return first, second
