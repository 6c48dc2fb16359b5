"""Matrices in 8 bits."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

# Processors without VNNI add two products of an unsigned byte and a weight in 16 bits, which hold
# 2 * 255 * 64 = 32,640 and not twice 255 * 127.
LARGEST_WEIGHT = 64
LARGEST_ENTRY = 127  # of embeddings that no product reads


class Integers(NamedTuple):
    """A matrix (N,M) as integers times a scale, one for each column (axis 1) or row (axis 0)."""

    integers: Any  # (N,M) int8: a NumPy array, or one of the engine that computes
    scale: Any  # (M,) or (N,) float32
    axis: int

    @classmethod
    def of(cls, matrix: np.ndarray, axis: int, largest: int) -> Self:
        """Round a float32 matrix to integers up to `largest`."""
        scale = np.maximum(matrix.max(axis=1 - axis), -matrix.min(axis=1 - axis))
        scale = np.where(scale > 0, scale / np.float32(largest), np.float32(1)).astype(np.float32)
        integers = matrix / np.expand_dims(scale, 1 - axis)
        return cls(np.rint(integers, out=integers).astype(np.int8), scale, axis)

    @property
    def shape(self) -> tuple[int, ...]:
        """(N,M)."""
        return self.integers.shape

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.integers.nbytes + self.scale.nbytes

    def matrix(self) -> np.ndarray:
        """The matrix in float32."""
        return self.integers * np.expand_dims(self.scale, 1 - self.axis)
