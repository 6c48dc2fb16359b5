"""Share what commands prepare, among commands that tests run in one process.

A command prepares its models for ONNX Runtime, and a training traces its steps again, which takes
nearly all of its time if the model is small. What is prepared depends only on the structure,
numbers and precision of a model and keeps no state, so equal models can share it. A training step
keeps its `state`, which is reset to that of a new one; its gradients depend neither on the
optimizer nor on the regularization.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from cgru_cli.formats.model import Model
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.optimization import minimum_risk, step
from cgru_cli.optimization.step import TrainingStep
from cgru_cli.parameters.integers import Integers
from cgru_cli.search import ensemble, runtime, scoring
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import PreparedModel, Settings, prepared
from cgru_cli.search.scoring import Scorer
from cgru_cli.train import builders
from cgru_cli.train.validation import Validator

KEPT: dict[Hashable, Any] = {}
LIMIT = 48  # maximal number of cached objects; the least recently used is dropped first
STEPS = minimum_risk.Steps


@contextlib.contextmanager
def traced_once() -> Iterator[None]:
    """Commands run inside reuse earlier traces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "prepared", _prepared)
        patch.setattr(scoring, "Scorer", _scorer)
        patch.setattr(ensemble, "Ensemble", _ensemble)
        patch.setattr(minimum_risk, "Steps", _steps)
        patch.setattr(step, "TrainingStep", _step)
        patch.setattr(builders, "Validator", _Validator)
        yield


def _kept(key: Hashable, make: Callable[[], Any]) -> Any:
    if key not in KEPT:
        if len(KEPT) == LIMIT:
            del KEPT[next(iter(KEPT))]
        KEPT[key] = make()
    KEPT[key] = kept = KEPT.pop(key)
    return kept


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
    taken = _kept(key, lambda: prepared(model, precision, settings))
    model.arrays = {}
    return taken


def _scorer(model: PreparedModel, *, with_alignment: bool) -> Scorer:
    key = Scorer, model, with_alignment
    return _kept(key, lambda: Scorer(model, with_alignment=with_alignment))


def _ensemble(models: Sequence[PreparedModel], weights: Sequence[float] = (1.0,)) -> Ensemble:
    key = Ensemble, tuple(models), tuple(map(float, weights))
    return _kept(key, lambda: Ensemble(models, weights))


def _steps(model: RecurrentModel) -> Any:
    return _kept((STEPS, model), lambda: STEPS(model))


class _Validator(Validator):
    """A validator that shares model, search and costs with earlier ones of its structure."""

    def __init__(self, options: Any, metrics: Any, dev_set: Any, model: RecurrentModel):
        key = Validator, model.structure, model.dtype_policy.name
        kept_model, traced = _kept(key, lambda: (model, {}))
        super().__init__(options, metrics, dev_set, kept_model)
        self._costs = traced.setdefault("costs", self._costs)


class _Step(TrainingStep):
    """A step that traces the gradients for each kind of batch: weighted, aligned, with dropout."""

    traced: dict[str, Any]

    def gradients(self, shares: Any) -> Any:
        kind = str(
            [
                (tf.nest.map_structure(lambda _: 0, examples), sorted(masks))
                for examples, masks in shares
            ]
        )
        self._traced = self.traced.get(kind)
        found = super().gradients(shares)
        self.traced[kind] = self._traced
        return found


def _kinds(thing: object) -> tuple[str, ...]:
    """The names of its class and base classes; each object may have a class of its own."""
    return tuple(kind.__qualname__ for kind in type(thing).__mro__)


def _step(
    model: RecurrentModel, optimizer: Any, regularization: Any, objective: Any, **more: Any
) -> TrainingStep:
    """A step on one device, without a prior model and quantised weights, shares traces."""
    if more["prior"] or more["quantization"] or more["replicas"].count > 1:
        return TrainingStep(model, optimizer, regularization, objective, **more)
    policy, frozen = model.dtype_policy.name, tuple(more["frozen"])
    key = TrainingStep, model.structure, policy, objective, more["jit"], frozen
    kept_model, traced = _kept(key, lambda: (model, {}))
    if kept_model is not model:
        kept_model.assign(model.arrays())
    made = _Step(kept_model, optimizer, regularization, objective, **more)
    made.traced = traced
    # Keras numbers the names, and every update sets the rate
    config = optimizer.get_config() | {"name": "", "learning_rate": 0.0}
    described = json.dumps(config, sort_keys=True, default=str)
    kept = _kept((*key, _kinds(optimizer), described, regularization), lambda: made)
    if kept is not made:
        kept.restore(made.state())
        kept._at_first = made._at_first
    return kept
