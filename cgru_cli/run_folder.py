"""The files of a training run, so kept that a kill at any moment costs only the time since a save.

All that a run needs to go on is one file, MODEL.npz.state.npz, which is replaced as a whole; the
model beside it is written from the same state, after it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import archive
from .errors import CgruError

FORMAT = 1
_JSON = "json"


class RunFolder:
    """Where a run keeps what; model: its `.npz`, in a folder that is made."""

    def __init__(self, model: Path):
        self.model = model

    def beside(self, suffix: str) -> Path:
        """A file named like the model with something behind it."""
        return self.model.with_name(self.model.name + suffix)

    @property
    def state(self) -> Path:
        """Everything that the run goes on from."""
        return self.beside(".state.npz")

    def best(self, metric: str) -> Path:
        """The best model by a metric, named as Marian names it."""
        return self.beside(f".best-{metric}.npz")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training into the same folder.

        Raises CgruError if one does, or if there can be no such folder.
        """
        import filelock

        lock = filelock.FileLock(self.beside(".lock"))
        try:
            self.model.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise CgruError(
                f"{self.model}: another process is training it ({lock.lock_file} is held)"
            ) from None
        except OSError as error:
            raise CgruError(f"{self.model.parent}: {error.strerror or error}") from None
        try:
            yield
        finally:
            lock.release()

    def save(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Replace the state. Raises CgruError, and leaves the old one, where that fails."""
        text = json.dumps({"format": FORMAT, **values}).encode()
        archive.write_npz(self.state, {**arrays, _JSON: np.frombuffer(text, np.uint8)})

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The state, or None where there is none. Raises CgruError for what is none of this age."""
        if not self.state.exists():
            return None
        arrays = archive.read_npz(self.state)
        try:
            values = json.loads(arrays.pop(_JSON).tobytes())
            known = values.pop("format") == FORMAT
        except (KeyError, TypeError, ValueError):
            known = False
        if not known:
            raise CgruError(f"{self.state}: not the state of a training; remove it to begin anew")
        return arrays, values

    def thin(self, keep: int) -> None:
        """Remove the oldest kept models, all but the `keep` newest, with what lies beside them."""
        kept = sorted(
            self.model.parent.glob(f"{self.model.name}.u*.npz"),
            key=lambda path: int(path.name.split(".u")[-1].removesuffix(".npz")),
        )
        for path in kept[: max(0, len(kept) - keep)]:
            for file in path.parent.glob(f"{path.name}*"):
                file.unlink(missing_ok=True)
