"""The one training step: gradients of a batch, their sum, and the update of the parameters.

Gradients are those of the sum of costs over a batch's words, so that batches can be added up, and
the shares of one that replicas have; the update divides by what was counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from ..network.keras_model import RecurrentModel, array_of
from ..network.network import Network
from .objective import CrossEntropy, Objective
from .quantized_weights import Quantization
from .replicas import Replicas

Share = tuple[Any, Mapping[str, np.ndarray]]  # of a batch, as the objective takes it; its dropout


class Gradients(NamedTuple):
    """The cost of a batch, or of a replica's share of it, and the gradient."""

    cost: tf.Tensor  # (): sum over words, nats; times the loss scale, as what follows
    parameters: list[tf.Tensor]  # of each that is trained


class Outcome(NamedTuple):
    """What an update did."""

    cost: float  # sum over words, nats
    norm: float  # of the gradient, before clipping
    applied: bool  # not where cost or norm is not finite


@dataclass(frozen=True)
class Regularization:
    """Clipping, the terms that are added to the gradient, and smoothing of the weights."""

    clip_norm: float = 0.0  # 0: not clipped
    decay_c: float = 0.0  # L2: decay_c * sum of squares is added to the cost (Nematus)
    map_decay_c: float = 0.0  # MAP-L2: of the differences from a prior (Nematus)
    smoothing: float = 0.0  # exponential smoothing of weights; 0: none


class TrainingStep:
    """A model in training: its optimizer, smoothed weights, and the compiled functions.

    It is made, with model and optimizer, inside `replicas.scope()`.
    """

    def __init__(
        self,
        model: RecurrentModel,
        optimizer: keras.optimizers.Optimizer,
        regularization: Regularization,
        objective: Objective | None = None,
        *,
        jit: bool,
        frozen: Sequence[str] = (),
        prior: Mapping[str, np.ndarray] | None = None,
        replicas: Replicas | None = None,
        quantization: Quantization | None = None,
    ):
        """frozen: names of parameters that stay; prior: what map_decay_c draws to, by name.

        quantization: the levels at which weights are kept; those that stay are put there once.
        """
        self.model, self.optimizer, self.regularization = model, optimizer, regularization
        self.objective, self.jit = objective or CrossEntropy(), jit
        self.replicas = replicas or Replicas()
        self.trained = {n: v for n, v in model.parameters.items() if n not in frozen}
        self.quantization = quantization
        # by name: what the levels took away, which comes before the next update
        self.errors: dict[str, tf.Variable] = {}
        if quantization:
            self._quantize_first(quantization)
        optimizer.build(list(self.trained.values()))
        self.smoothed = (
            [tf.Variable(variable.value) for variable in self.trained.values()]
            if regularization.smoothing
            else []
        )
        self.prior = []
        if prior is not None and regularization.map_decay_c > 0:
            self.prior = [tf.constant(prior[name]) for name in self.trained]
        self.updates = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.loss_scale = LossScale(1024.0 if model.compute_dtype == "float16" else 1.0)
        self._of_share = (
            tf.function(self._of_batch, jit_compile=True, autograph=False) if jit
            else self._of_batch
        )  # fmt: skip
        self._gradients = tf.function(
            lambda shares: self.replicas.run(self._of_share, shares), autograph=False
        )
        self._traced: Any = None
        self._add = tf.function(self._sum, autograph=False)
        self._reduce = tf.function(self._reduced, autograph=False)
        self._follow = tf.function(self._followed, autograph=False)

    def gradients(self, shares: Sequence[Share]) -> Sequence[Gradients]:
        """The sum of costs, and its gradient, of the share that each replica here has."""
        arguments = [
            (
                tf.nest.map_structure(tf.convert_to_tensor, examples),
                {name: tf.convert_to_tensor(mask) for name, mask in masks.items()},
                tf.constant(self.loss_scale.scale),
            )
            for examples, masks in shares
        ]
        if self.jit:
            return self._gradients(arguments)
        # one trace for all shapes, from the first on: another trace may round otherwise, and
        # a resumed training begins with another batch
        self._traced = self._traced or self._gradients.get_concrete_function(
            [any_size(share) for share in arguments]
        )
        return self._traced(arguments)

    def update(self, batches: Sequence[Sequence[Share]], divisor: float, rate: float) -> Outcome:
        """One update from one batch, or from several as if they were one.

        batches: of each, the shares of the replicas here. divisor: sentences or words of all of
        them, everywhere, by which costs are averaged. A cost or gradient that is not finite leaves
        everything as it is.
        """
        summed = self.gradients(batches[0])
        for shares in batches[1:]:
            summed = self._add(summed, self.gradients(shares))
        scale = self.loss_scale.scale
        factor = tf.constant(1.0 / (divisor * scale), tf.float32)
        costs, norms, gradients = zip(*self._reduce(summed, factor), strict=True)
        del summed  # as large as the model, and not needed while that is updated
        cost, norm = float(costs[0]) / scale, float(norms[0])
        finite = bool(np.isfinite(norm) and np.isfinite(cost))
        if finite:
            self.optimizer.learning_rate.assign(rate)
            self._follow(gradients)
        self.loss_scale.seen(finite)
        return Outcome(cost, norm, finite)

    def weights(self) -> dict[str, np.ndarray]:
        """The model's arrays as they are used: smoothed, where they are smoothed."""
        arrays = self.model.arrays()
        if self.smoothed:
            arrays |= {n: array_of(v) for n, v in zip(self.trained, self.smoothed, strict=True)}
        return arrays

    def state(self) -> dict[str, np.ndarray]:
        """All to go on with to the bit: weights, smoothed weights, errors, optimizer."""
        state = {f"weights/{name}": array for name, array in self.model.arrays().items()}
        for name, variable in zip(self.trained, self.smoothed, strict=False):
            state[f"smoothed/{name}"] = array_of(variable)
        for name, error in self.errors.items():
            state[f"quantization_error/{name}"] = array_of(error)
        for place, variable in enumerate(self.optimizer.variables):
            state[f"optimizer/{place}/{variable.name}"] = array_of(variable)
        state["updates"] = array_of(self.updates)
        state["loss_scale"] = np.array(self.loss_scale.state())
        return state

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """The reverse of `state`. Raises KeyError or ValueError for that of another training."""
        if set(state) != set(self.state()):
            raise ValueError("other arrays than this training has")
        self.model.assign({n: state[f"weights/{n}"] for n in self.model.parameters})
        for name, variable in zip(self.trained, self.smoothed, strict=False):
            variable.assign(state[f"smoothed/{name}"])
        for name, error in self.errors.items():
            error.assign(state[f"quantization_error/{name}"])
        for place, variable in enumerate(self.optimizer.variables):
            variable.assign(state[f"optimizer/{place}/{variable.name}"])
        self.updates.assign(int(state["updates"]))
        self.loss_scale.restore(state["loss_scale"])

    def _of_batch(self, examples: Any, masks: dict[str, tf.Tensor], scale: tf.Tensor) -> Gradients:
        model = self.model
        arrays = {name: variable.value for name, variable in model.parameters.items()}
        values = [arrays[name] for name in self.trained]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(values)
            network = Network(
                model.structure, arrays, model.compute_dtype, masks, packed=not self.jit
            )
            cost = scale * self.objective.cost(network, examples)
        gradients = tape.gradient(cost, values, unconnected_gradients="zero")
        return Gradients(cost, [tf.convert_to_tensor(gradient) for gradient in gradients])

    def _sum(self, gradients: Sequence[Gradients], others: Sequence[Gradients]) -> tuple:
        """The sums of two batches' gradients, on each replica here."""
        return self.replicas.run(
            lambda one, other: tf.nest.map_structure(tf.add, one, other),
            list(zip(gradients, others, strict=True)),
        )

    def _reduced(self, gradients: Sequence[Gradients], factor: tf.Tensor) -> tuple:
        """The cost of the whole batch, and its gradient regularised, on each replica here."""

        def of_replica(share: Gradients) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
            cost, *of_batch = self.replicas.sum([share.cost, *share.parameters])
            return cost, *self._regularized(of_batch, factor)

        return self.replicas.run(of_replica, [(share,) for share in gradients])

    def _regularized(
        self, gradients: list[tf.Tensor], factor: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The gradient's norm, with what regularisation adds; and the gradient, clipped."""
        regularization = self.regularization
        variables = list(self.trained.values())
        if regularization.decay_c or self.prior:
            gradients = [gradient * factor for gradient in gradients]
            factor = tf.ones_like(factor)
        if regularization.decay_c:
            gradients = [
                gradient + 2 * regularization.decay_c * variable.value
                for gradient, variable in zip(gradients, variables, strict=True)
            ]
        if self.prior:
            gradients = [
                gradient + 2 * regularization.map_decay_c * (variable.value - prior)
                for gradient, variable, prior in zip(gradients, variables, self.prior, strict=True)
            ]
        norm = factor * tf.linalg.global_norm(gradients)
        if regularization.clip_norm:
            factor *= regularization.clip_norm / tf.maximum(norm, regularization.clip_norm)
        return norm, [gradient * factor for gradient in gradients]  # once: they are large

    def _followed(self, gradients: Sequence[list[tf.Tensor]]) -> None:
        """Apply the same gradient on each replica; then smooth and quantise the weights."""
        variables = list(self.trained.values())
        self.replicas.run(
            lambda of_replica: self.optimizer.apply(of_replica, variables),
            [(of_replica,) for of_replica in gradients],
        )
        self.updates.assign_add(1)
        # Marian: nearly no memory of the first, random weights
        t = tf.cast(self.updates, tf.float32)
        share = tf.maximum(self.regularization.smoothing, 1 - t / (t + 9))
        for smooth, variable in zip(self.smoothed, variables, strict=False):
            self.replicas.assign(
                smooth, lambda old, new: old.assign_add(share * (new - old)), variable.value
            )
        if self.quantization:
            for name, error in self.errors.items():
                self.replicas.assign(
                    self.trained[name].value, self.quantization.with_feedback, error
                )

    def _quantize_first(self, quantization: Quantization) -> None:
        """Round all weights to their levels; errors begin with 0, as Marian's do."""
        arrays = self.model.arrays()
        chosen = [name for name, array in arrays.items() if quantization.is_of(array.shape)]
        self.model.assign(arrays | {n: quantization.quantized(arrays[n]).numpy() for n in chosen})
        self.errors = {
            n: tf.Variable(tf.zeros(arrays[n].shape)) for n in chosen if n in self.trained
        }


class LossScale:
    """float16's gradients are scaled up, so that small ones are not lost; 1 for other types.

    Halved whenever the scaled gradient is not finite, doubled after 2,000 updates that are
    (Micikevicius et al. 2018).
    """

    def __init__(self, scale: float):
        self.scale, self.dynamic, self.good = scale, scale != 1.0, 0

    def seen(self, finite: bool) -> None:
        """Account for one update."""
        if not self.dynamic:
            return
        if not finite:
            self.scale, self.good = max(1.0, self.scale / 2), 0
        else:
            self.good += 1
            if self.good == 2000:
                self.scale, self.good = self.scale * 2, 0

    def state(self) -> list[float]:
        return [self.scale, float(self.good)]

    def restore(self, state: np.ndarray) -> None:
        self.scale, self.good = float(state[0]), int(state[1])


def any_size(arguments: tuple) -> tuple:
    """Specifications of arguments with any number of sentences and words."""
    examples, masks, scale = arguments

    def spec(tensor: tf.Tensor, *width: int) -> tf.TensorSpec:
        unknown = tensor.shape.rank - len(width)
        return tf.TensorSpec([None] * unknown + list(width), tensor.dtype)

    def of_batch(tensor: tf.Tensor) -> tf.TensorSpec:
        factors = tensor.shape[2:] if tensor.dtype.is_integer else ()  # as many in every batch
        return spec(tensor, *factors)

    words = ("source", "target")
    return (
        tf.nest.map_structure(of_batch, examples),
        {
            name: spec(mask) if name in words else spec(mask, mask.shape[-1])
            for name, mask in masks.items()
        },
        spec(scale),
    )
