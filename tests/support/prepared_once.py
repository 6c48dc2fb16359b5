"""Share what commands prepare for ONNX Runtime, among commands that tests run in one process.

It takes nearly all of their time if the model is small. It depends only on the structure, numbers
and precision of a model and keeps no state, so equal models can share it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from cgru_cli.formats.model import Model
from cgru_cli.parameters.integers import Integers
from cgru_cli.search import ensemble, runtime, scoring
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import PreparedModel, Settings, prepared
from cgru_cli.search.scoring import Scorer

KEPT: dict[Hashable, Any] = {}
LIMIT = 48  # maximal number of cached objects; the least recently used is dropped first


@contextlib.contextmanager
def prepared_once() -> Iterator[None]:
    """Commands run inside use models that earlier commands have prepared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "prepared", _prepared)
        patch.setattr(scoring, "Scorer", _scorer)
        patch.setattr(ensemble, "Ensemble", _ensemble)
        yield


def kept(key: Hashable, make: Callable[[], Any]) -> Any:
    """The object of a key, made if there is none."""
    if key not in KEPT:
        if len(KEPT) == LIMIT:
            del KEPT[next(iter(KEPT))]
        KEPT[key] = make()
    KEPT[key] = found = KEPT.pop(key)
    return found


def _prepared(
    model: Model, precision: str = "float32", settings: Settings | None = None, **_once: bool
) -> PreparedModel:
    digest = hashlib.sha256(f"{model.structure!r} {model.precision}".encode())
    for name, array in sorted(model.arrays.items()):
        for part in array if isinstance(array, Integers) else (array,):
            part = np.asarray(part)
            digest.update(f"{name} {part.dtype} {part.shape} ".encode() + part.tobytes())
    where = settings and (settings.threads, str(settings.providers))
    key = digest.digest(), precision, where
    taken = kept(key, lambda: prepared(model, precision, settings))
    model.arrays = {}
    return taken


def _scorer(model: PreparedModel, *, with_alignment: bool) -> Scorer:
    key = Scorer, model, with_alignment
    return kept(key, lambda: Scorer(model, with_alignment=with_alignment))


def _ensemble(models: Sequence[PreparedModel], weights: Sequence[float] = (1.0,)) -> Ensemble:
    key = Ensemble, tuple(models), tuple(map(float, weights))
    return kept(key, lambda: Ensemble(models, weights))
