"""The files of a training run. A kill at any moment loses only the work since the last save.

Everything that a run needs to resume is in one file, MODEL.npz.state.npz, which each save replaces
as a whole. The save then writes the model beside it, from the same state.
"""

from __future__ import annotations

import contextlib
import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import CgruError, UsageError, reading, writing
from ...formats import array_files, model_vocabularies
from ...options.flags import by_data
from ...options.keywords import checked
from ...options.kinds import UPDATE
from ...options.train import TrainOptions
from ...text.vocabulary import Vocabulary

FORMAT = 1
_JSON = "json"
ADVICE = "restore the file, or remove it and the model to start again"
WRITTEN_BY_CGRU = b"# written by cgru\n"  # first line of `.progress.yml` if cgru saved last


class Recorded(NamedTuple):
    """The values with which a run began, of the options whose defaults depend on the data.

    stated: values of explicit options; None if an earlier version of cgru, which did not save them,
    saved the run. An option in neither has its declared default.
    """

    chosen: dict[str, Any]
    stated: dict[str, Any] | None


class RunFolder:
    """The paths of a run's files; model: its `.npz`; keep_as: names of kept models.

    resumes: whether to continue an earlier run; marian: whether Marian may have saved that run.
    """

    def __init__(
        self,
        model: Path,
        keep_as: str | None = None,
        *,
        resumes: bool = True,
        marian: bool = False,
    ):
        self.model, self._resumes, self._marian = model, resumes, marian
        self._kept = Path(keep_as) if keep_as else self.beside(f".u{UPDATE}.npz")
        self.state = self.beside(".state.npz")  # everything to resume from
        self.records = self.beside(".metrics.jsonl")  # the log for programs
        self.marian_progress = self.beside(".progress.yml")
        self.marian_optimizer = self.beside(".optimizer.npz")
        self.dev = self.beside(".dev.npz")  # for scripts, named as Nematus and Marian name it

    def beside(self, suffix: str) -> Path:
        """The file whose name is the model's name plus this suffix."""
        return self.model.with_name(self.model.name + suffix)

    @property
    def of_marian(self) -> bool:
        """Whether the run continues a run that Marian saved last. Raises CgruError."""
        path = self.marian_progress
        if not (self._marian and self._resumes and path.exists() and self.model.exists()):
            return False
        with reading(path), open(path, "rb") as file:
            return not file.readline().startswith(WRITTEN_BY_CGRU)

    def best(self, metric: str) -> Path:
        """The best model by a metric, named as Marian names it."""
        return self.beside(f".best-{metric}.npz")

    def kept(self, updates: int) -> Path:
        """The model after this many updates; for a checkpoint, the prefix of its files."""
        return self._kept.with_name(self._kept.name.replace(UPDATE, str(updates)))

    def check_new(self, vocabularies: Sequence[Vocabulary]) -> None:
        """Raises CgruError if a new run would overwrite other files."""
        if self.state.exists() or not self._resumes or self.of_marian:
            return
        if self.model.exists():
            raise CgruError(
                f"{self.model}: exists, and training cannot resume from it (no {self.state.name}); "
                "start from it with --pretrained-model, and train into another file"
            )
        _, placements = model_vocabularies.plan(vocabularies, self.model.parent, "npz", True)
        for path, (vocabulary, _) in placements.items():
            if path.exists():
                raise CgruError(
                    f"{path}: differs from the vocabulary {vocabulary.path}; "
                    "train into another folder"
                )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folders, and keep other processes from training the same model.

        Raises CgruError if another process trains the model, or if a folder cannot be made.
        """
        import filelock

        lock = filelock.FileLock(self.beside(".lock"))
        with writing(self.model.parent):
            for file in (self.model, self._kept):
                file.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout:
                raise CgruError(
                    f"{self.model}: another process is training it ({lock.lock_file} is held)"
                ) from None
        try:
            yield
        finally:
            lock.release()

    def remove_interrupted(self, vocabularies: Sequence[Vocabulary]) -> None:
        """Remove the temporary files that a kill may have left."""
        names, _ = model_vocabularies.plan(vocabularies, self.model.parent, "npz", True)
        patterns = [f".{glob.escape(name)}.*.tmp" for name in (self.model.name, *names)]
        left = [path for pattern in patterns for path in self.model.parent.glob(pattern)]
        start = glob.escape(self._kept.name.partition(UPDATE)[0])
        for path in (*left, *self._kept.parent.glob(f".{start}[0-9]*.tmp")):
            with contextlib.suppress(OSError):
                path.unlink()

    def save(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Replace the state. If that fails, raises CgruError and keeps the old state.

        Two uninterrupted runs write the same bytes, except for the elapsed seconds, which limits
        and frequencies in minutes need.
        """
        text = json.dumps({"format": FORMAT, "arrays": sorted(arrays), **values}).encode()
        array_files.write_npz(self.state, {**arrays, _JSON: np.frombuffer(text, np.uint8)})

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The state: arrays and values; None for a new run, or if Marian's state replaces it.

        Raises CgruError if the file is not a state in this format, or was changed.
        """
        if not self._resumes or not self.state.exists() or self.of_marian:
            return None
        arrays = array_files.read_npz(self.state)
        try:
            values = json.loads(arrays.pop(_JSON).tobytes())
            # npz files have a checksum for each array, but not for the list of names
            known = values.pop("format") == FORMAT
            known &= values.pop("arrays", sorted(arrays)) == sorted(arrays)
        except (AttributeError, KeyError, TypeError, ValueError):
            known = False
        if not known:
            raise CgruError(
                f"{self.state}: not the state of a training run; restore it, or remove it "
                f"and {self.model.name} to start again"
            )
        return arrays, values

    def recorded(self, state: Mapping[str, Any]) -> Recorded | None:
        """The values with which the run of a state began; None without a state.

        Raises CgruError for a damaged state.
        """
        if not state:
            return None

        def values(name: str) -> dict[str, Any]:
            try:
                return checked(TrainOptions, state.get(name, {}), sorted(by_data(TrainOptions)))
            except (AttributeError, UsageError) as error:
                raise CgruError(f"{self.state}: damaged: {name}: {error}; {ADVICE}") from None

        chosen = values("chosen")
        # a run of an earlier version that chose no value had fixed defaults
        lacks = chosen and "stated" not in state
        return Recorded(chosen, None if lacks else values("stated"))

    def thin(self, keep: int, updates: int) -> None:
        """Remove all kept models except the `keep` (> 0) newest, with their files.

        Models after more than this many updates belong to an older run, which this run replaces.
        """
        start, _, end = map(re.escape, self._kept.name.partition(UPDATE))
        whole = re.compile(rf"{start}([0-9]+){end}(\.index)?")
        folder = self._kept.parent
        models = {int(m[1]): p for p in folder.iterdir() if (m := whole.fullmatch(p.name))}
        for number in sorted(models, key=lambda number: (number <= updates, number))[:-keep]:
            for file in folder.glob(f"{glob.escape(self.kept(number).name)}.*"):
                if file != models[number]:
                    file.unlink(missing_ok=True)
            models[number].unlink(missing_ok=True)  # the model last, in case of a kill
