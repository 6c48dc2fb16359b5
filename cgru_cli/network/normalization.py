"""Layer normalisation of Nematus and of Marian, and the RMS norm of Nematus-TF."""

from typing import NamedTuple

from ..parameters.structure import Normalization
from . import ops
from .ops import Tensor

NEMATUS_EPSILON = 1e-5  # Nematus, layer and RMS norm
MARIAN_EPSILON = 1e-9


class Norm(NamedTuple):
    """Gains and biases of one normalisation; bias is None for kinds without one."""

    kind: Normalization
    gain: Tensor  # (N,)
    bias: Tensor | None  # (N,)


def normalize(x: Tensor, norm: Norm | None) -> Tensor:
    """Layer norm over the last axis (Ba et al. 2016), or Nematus-TF's RMS norm; (..., N)."""
    if norm is None:
        return x
    if norm.kind is Normalization.RMS:
        square = ops.mean(x * x, axis=-1, keepdims=True)
        return x * ops.rsqrt(square + NEMATUS_EPSILON) * norm.gain
    epsilon = MARIAN_EPSILON if norm.kind is Normalization.MARIAN else NEMATUS_EPSILON
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(centred * centred, axis=-1, keepdims=True)
    y = centred * ops.rsqrt(variance + epsilon) * norm.gain
    return y if norm.bias is None else y + norm.bias
