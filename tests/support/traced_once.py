"""Share what commands prepare and trace, among commands that tests run in one process.

A training traces its steps again, which takes nearly all of its time if the model is small. A
training step keeps its `state`, which is reset to that of a new one; its gradients depend neither
on the optimizer nor on the regularization.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf
from prepared_once import kept, prepared_once

from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.optimization import minimum_risk, step
from cgru_cli.optimization.step import TrainingStep
from cgru_cli.train import builders
from cgru_cli.train.validation import Validator

STEPS = minimum_risk.Steps


@contextlib.contextmanager
def traced_once() -> Iterator[None]:
    """Commands run inside reuse earlier traces, and models that are prepared already."""
    with prepared_once(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimum_risk, "Steps", _steps)
        patch.setattr(step, "TrainingStep", _step)
        patch.setattr(builders, "Validator", _Validator)
        yield


def _steps(model: RecurrentModel) -> Any:
    return kept((STEPS, model), lambda: STEPS(model))


class _Validator(Validator):
    """A validator that shares model, search and costs with earlier ones of its structure."""

    def __init__(self, options: Any, metrics: Any, dev_set: Any, model: RecurrentModel):
        key = Validator, model.structure, model.dtype_policy.name
        kept_model, traced = kept(key, lambda: (model, {}))
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
    kept_model, traced = kept(key, lambda: (model, {}))
    if kept_model is not model:
        kept_model.assign(model.arrays())
    made = _Step(kept_model, optimizer, regularization, objective, **more)
    made.traced = traced
    # Keras numbers the names, and every update sets the rate
    config = optimizer.get_config() | {"name": "", "learning_rate": 0.0}
    described = json.dumps(config, sort_keys=True, default=str)
    earlier = kept((*key, _kinds(optimizer), described, regularization), lambda: made)
    if earlier is not made:
        earlier.restore(made.state())
        earlier._at_first = made._at_first
    return earlier
