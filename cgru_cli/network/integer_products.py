"""Products and embeddings of 8-bit integers, with float32 results.

x W is sum_n q(x_n) q(W_nm), exact in 32 bits on every processor, times the scale of the column.
Inputs are quantised in each call: those in [-1,1], like states and tanh, in steps of 1/127, others
in 127 steps up to the largest absolute value of their row. So a row never depends on another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..parameters.integers import LARGEST_ENTRY, LARGEST_WEIGHT, Integers
from ..parameters.names import parameters, target_table
from ..parameters.structure import Structure
from . import ops
from .folded_weights import FoldedWeights
from .ops import Tensor
from .products import Product

# Matrices of few columns, or that products of two vectors read
EXACT = ("decoder/start/", "decoder/mixture/pi/", "decoder/crf/", "U_att", "prelu")


class IntegerProduct(Product):
    """x W with integers (N,M) int8 and their scale (M,); bounded: whether x lies in [-1,1]."""

    def __init__(self, integers: Tensor, scale: Tensor, *, bounded: bool):
        self.integers, self.scale, self.bounded = integers, scale, bounded

    @classmethod
    def of(cls, matrices: Sequence[Integers], *, bounded: bool) -> IntegerProduct:
        """The product with matrices side by side, each with a scale per column."""
        integers = ops.concat([ops.convert(matrix.integers) for matrix in matrices], axis=1)
        scale = ops.concat([ops.convert(matrix.scale) for matrix in matrices], axis=0)
        return cls(integers, scale, bounded=bounded)

    @property
    def dtype(self) -> str:
        """The inputs' dtype before quantisation."""
        return "float32"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.integers.shape

    def columns(self, places: Tensor) -> list[Tensor]:
        """See `Product`: integers (N,M') and their scale (M',)."""
        return [ops.take(self.integers, places, axis=1), ops.take(self.scale, places)]

    def with_columns(self, columns: list[Tensor]) -> IntegerProduct:
        """See `Product`."""
        return IntegerProduct(*columns, bounded=self.bounded)

    def multiply_rows(self, x: Tensor) -> Tensor:
        """x: (R,N) float32 -> (R,M) float32."""
        if self.bounded:
            return ops.integer_product(x, self.integers, self.scale)
        largest = ops.max(ops.abs(x), axis=-1, keepdims=True)
        unit = x / ops.where(largest > 0.0, largest, 1.0)
        return ops.integer_product(unit, self.integers, self.scale) * largest


def in_8_bits(
    structure: Structure, arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | Integers]:
    """The arrays with all matrices of products and embeddings as `Integers`.

    Constant factors, such as weight norm, are folded into them. Embeddings have a scale for each
    row, which is a column of the output layer if that is tied to them.
    """
    from .engines import onnx

    with ops.using(onnx):
        weights = FoldedWeights(structure, arrays)
        tied = target_table(structure) if structure.tied_output else None
        result: dict[str, np.ndarray | Integers] = dict(arrays)
        for parameter in parameters(structure):
            path, table = parameter.path, "/embedding" in parameter.path
            if len(parameter.shape) != 2 or any(part in path for part in EXACT):
                continue
            largest = LARGEST_ENTRY if table and path != tied else LARGEST_WEIGHT
            matrix: Any = weights[path]
            result[parameter.name] = Integers.of(matrix.array, 0 if table else 1, largest)
    return result
