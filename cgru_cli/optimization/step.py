"""The training step: gradients of a batch, their sum, and the update of the parameters.

The cost is a sum over words, so that the gradients of batches, and of the replicas' shares of a
batch, can be added up; the update divides by the number of sentences or words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from ..network.keras_model import RecurrentModel, array_of
from ..network.network import Network
from .objective import CrossEntropy, Objective
from .optimizers import sums
from .quantized_weights import Quantization
from .replicas import Replicas

Share = tuple[Any, Mapping[str, np.ndarray]]  # part of a batch for the objective, and its dropout


class Gradients(NamedTuple):
    """The cost of a batch, or of a replica's share of it, and the gradient."""

    cost: tf.Tensor  # (): sum over words, nats, times the loss scale
    parameters: list[tf.Tensor]  # of each trained parameter, times the loss scale


class Outcome(NamedTuple):
    """The result of an update."""

    cost: float  # sum over words, nats
    norm: float  # of the gradient, before clipping
    applied: bool  # False if cost or norm is not finite


@dataclass(frozen=True)
class Regularization:
    """Clipping, the terms added to the gradient, and smoothing of the weights."""

    clip_norm: float = 0.0  # 0: not clipped
    decay_c: float = 0.0  # L2: adds decay_c * sum of squares to the cost (Nematus)
    map_decay_c: float = 0.0  # MAP-L2: L2 of the differences from a prior (Nematus)
    smoothing: float = 0.0  # exponential smoothing of weights; 0: none


class TrainingStep:
    """A model in training: its optimizer, smoothed weights, and compiled functions.

    Create model, optimizer and step inside `replicas.scope()`.
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
        """frozen: names of parameters to leave unchanged; prior: the arrays for map_decay_c, by
        name; quantization: the levels of weights, to which frozen weights are rounded once.
        """
        self.model, self.optimizer, self.regularization = model, optimizer, regularization
        self.objective, self.jit = objective or CrossEntropy(), jit
        self.replicas = replicas or Replicas()
        self.trained = {n: v for n, v in model.parameters.items() if n not in frozen}
        self.quantization = quantization
        self.errors: dict[str, tf.Variable] = {}  # rounding errors of the last update, by name
        if quantization:
            self._quantize_first(quantization)
        optimizer.build(list(self.trained.values()))
        self._at_first = [array_of(variable).flat[0] for variable in optimizer.variables]
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
        self._compute = self._share_gradients
        if jit:
            self._compute = tf.function(self._compute, jit_compile=True, autograph=False)
        self._gradients = tf.function(
            lambda shares: self.replicas.run(self._compute, shares), autograph=False
        )
        self._traced: Any = None
        self._add = tf.function(self._sum, autograph=False)
        self._reduce = tf.function(self._reduced, autograph=False)
        self._apply = tf.function(self._applied, autograph=False)

    def gradients(self, shares: Sequence[Share]) -> Sequence[Gradients]:
        """The sum of costs and its gradient, for the share of each local replica."""
        arguments = [tensors_of(share, self.loss_scale.scale) for share in shares]
        if self.jit:
            return self._gradients(arguments)
        # One trace for all shapes, because another trace may round differently, and a resumed
        # training begins with a batch of another shape.
        self._traced = self._traced or self._gradients.get_concrete_function(
            [any_size(share) for share in arguments]
        )
        return self._traced(arguments)

    def update(
        self,
        batches: Sequence[Sequence[Share]],
        divisor: float,
        rate: float,
        size: float = 1.0,
    ) -> Outcome:
        """One update from one batch, or from several batches as if they were one.

        batches: the shares of the local replicas, for each batch. divisor: the number of sentences
        or words of all batches on all replicas, over which costs are averaged. size: the number of
        updates that this update counts as when weights are smoothed. If cost or gradient is not
        finite, nothing changes.
        """
        summed = self.gradients(batches[0])
        for shares in batches[1:]:
            summed = self._add(summed, self.gradients(shares))
        scale = self.loss_scale.scale
        factor = tf.constant(1.0 / (divisor * scale), tf.float32)
        costs, norms, gradients = zip(*self._reduce(summed, factor), strict=True)
        del summed  # frees as much memory as the model takes
        cost, norm = float(costs[0]) / scale, float(norms[0])
        finite = bool(np.isfinite(norm) and np.isfinite(cost))
        if finite:
            self.optimizer.learning_rate.assign(rate)
            factor = -math.expm1(size * math.log1p(-self.regularization.smoothing))
            self._apply(gradients, tf.constant(size), tf.constant(factor))
        self.loss_scale.adapt(finite)
        return Outcome(cost, norm, finite)

    def weights(self) -> dict[str, np.ndarray]:
        """The model's arrays for validation and saving: smoothed, if smoothing is on."""
        arrays = self.model.arrays()
        if self.smoothed:
            arrays |= {n: array_of(v) for n, v in zip(self.trained, self.smoothed, strict=True)}
        return arrays

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed for a bit-exact resume, by name."""
        state = {name: array_of(variable) for name, variable in self._variables().items()}
        return state | {"loss_scale": np.array(self.loss_scale.state())}

    def sums(self) -> dict[str, dict[str, Any]]:
        """The optimizer's and the smoothed variables by kind, in Marian's terms, and parameter."""
        kinds = sums(self.optimizer)
        if self.smoothed:
            kinds["exp_smoothing"] = self.smoothed
        return {kind: dict(zip(self.trained, of, strict=True)) for kind, of in kinds.items()}

    def reset_optimizer(self) -> None:
        """Reset the optimizer to its initial state."""
        for variable, value in zip(self.optimizer.variables, self._at_first, strict=True):
            variable.assign(np.full(variable.shape, value))

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a `state`. Raises KeyError or ValueError for the state of another run."""
        variables = self._variables()
        if set(state) != {*variables, "loss_scale"}:
            raise ValueError("arrays that differ from those of this training")
        for name, variable in variables.items():
            variable.assign(state[name])
        self.loss_scale.restore(state["loss_scale"])

    def _variables(self) -> dict[str, Any]:
        """All variables that an update changes, by their names in `state`."""
        variables = {f"weights/{name}": v for name, v in self.model.parameters.items()}
        for name, variable in zip(self.trained, self.smoothed, strict=False):
            variables[f"smoothed/{name}"] = variable
        for name, error in self.errors.items():
            variables[f"quantization_error/{name}"] = error
        for place, variable in enumerate(self.optimizer.variables):
            variables[f"optimizer/{place}/{variable.name}"] = variable
        return variables | {"updates": self.updates}

    def _share_gradients(
        self, examples: Any, masks: dict[str, tf.Tensor], scale: tf.Tensor
    ) -> Gradients:
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
        return self.replicas.run(
            lambda one, other: tf.nest.map_structure(tf.add, one, other),
            list(zip(gradients, others, strict=True)),
        )

    def _reduced(self, gradients: Sequence[Gradients], factor: tf.Tensor) -> tuple:
        """The cost of the whole batch and its regularised gradient, on each replica here."""

        def reduce(share: Gradients) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
            cost, *summed = self.replicas.sum([share.cost, *share.parameters])
            return cost, *self._regularized(summed, factor)

        return self.replicas.run(reduce, [(share,) for share in gradients])

    def _regularized(
        self, gradients: list[tf.Tensor], factor: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The norm of the gradient including regularisation terms, and the clipped gradient."""
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

    def _applied(
        self, gradients: Sequence[list[tf.Tensor]], size: tf.Tensor, smoothing: tf.Tensor
    ) -> None:
        """Apply the same gradient on each replica; then smooth and quantise the weights."""
        variables = list(self.trained.values())
        self.replicas.run(
            lambda gradient: self.optimizer.apply(gradient, variables),
            [(gradient,) for gradient in gradients],
        )
        # as in Marian, to forget the random initial weights soon
        t = tf.floor(size * tf.cast(self.updates, tf.float32)) + 1
        share = tf.maximum(smoothing, 1 - t / (t + 9))
        self.updates.assign_add(1)
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
        """Round all weights to their levels; the first rounding errors are 0, as in Marian."""
        arrays = self.model.arrays()
        chosen = [n for n, array in arrays.items() if quantization.applies_to(array.shape)]
        self.model.assign(arrays | {n: quantization.quantized(arrays[n]).numpy() for n in chosen})
        self.errors = {
            n: tf.Variable(tf.zeros(arrays[n].shape)) for n in chosen if n in self.trained
        }


class LossScale:
    """The factor that keeps small gradients of float16 from becoming 0; 1 for other types.

    It is halved if the scaled gradient is not finite, and doubled after 2,000 finite ones in a row
    (Micikevicius et al. 2018).
    """

    def __init__(self, scale: float):
        self.scale, self.dynamic, self.good = scale, scale != 1.0, 0

    def adapt(self, finite: bool) -> None:
        """Count one update, and change the factor if needed."""
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


def tensors_of(share: Share, scale: float) -> tuple:
    """A share and the loss scale as tensors."""
    examples, masks = share
    return (
        tf.nest.map_structure(tf.convert_to_tensor, examples),
        {name: tf.convert_to_tensor(mask) for name, mask in masks.items()},
        tf.constant(scale),
    )


def any_size(arguments: tuple) -> tuple:
    """Specifications of arguments for any number of sentences and words."""
    examples, masks, scale = arguments

    def spec(tensor: tf.Tensor, *width: int) -> tf.TensorSpec:
        unknown = tensor.shape.rank - len(width)
        return tf.TensorSpec([None] * unknown + list(width), tensor.dtype)

    def batch_spec(tensor: tf.Tensor) -> tf.TensorSpec:
        factors = tensor.shape[2:] if tensor.dtype.is_integer else ()  # the same in every batch
        return spec(tensor, *factors)

    words = ("source", "target")
    return (
        tf.nest.map_structure(batch_spec, examples),
        {
            name: spec(mask) if name in words else spec(mask, mask.shape[-1])
            for name, mask in masks.items()
        },
        spec(scale),
    )
