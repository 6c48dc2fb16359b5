"""Matrix products as objects, which `scan` records and replays in training."""

import itertools
from collections.abc import Callable
from typing import NamedTuple, Self, cast

from . import ops
from .ops import Tensor


class Fixed:
    """Tensors without a gradient, such as masks or indices."""

    def __init__(self, value: Tensor | tuple[Tensor, ...]):
        self.value = value


class Product:
    """x W, computed in the type of the matrix, with a float32 result.

    matrix: (N,M) for all rows, or (B,N,M), one matrix per sentence.
    """

    def __init__(self, matrix: Tensor):
        self.matrix = matrix

    @property
    def dtype(self) -> str:
        """The inputs' dtype."""
        return self.matrix.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The matrix's shape."""
        return self.matrix.shape

    def __call__(self, x: Tensor) -> list[Tensor]:
        """x: (...,N) -> one (...,M)."""
        return [self.multiply(ops.cast(x, self.dtype))]

    def multiply(self, x: Tensor) -> Tensor:
        """x: (...,N) in the matrix's type -> (...,M) float32."""
        if len(self.shape) == 3 or len(x.shape) == 2:
            return self.multiply_rows(x)
        y = self.multiply_rows(ops.reshape(x, [-1, x.shape[-1]]))
        return ops.reshape(y, (*ops.shape(x)[:-1], self.shape[-1]))

    def multiply_rows(self, x: Tensor) -> Tensor:
        """x: (R,N), or (B,R,N) with a matrix per sentence -> (R,M) or (B,R,M) float32."""
        return ops.cast(ops.matmul(x, self.matrix), "float32")

    def columns(self, places: Tensor) -> list[Tensor]:
        """The tensors for `with_columns`: columns of the matrix at indices (M',)."""
        return [ops.take(self.matrix, places, axis=1)]

    def with_columns(self, columns: list[Tensor]) -> "Product":
        """The product with the columns that `columns` returned."""
        (matrix,) = columns
        return Product(matrix)


class Itself(NamedTuple):
    """The input itself, instead of a product."""

    def __call__(self, x: Tensor) -> list[Tensor]:
        """x: (...,N), in float32."""
        return [ops.cast(x, "float32")]


class Products(NamedTuple):
    """x [W1|W2|..] for matrices that share an input, with the results in groups.

    All matrices are one product; with dropout, each has its own mask (Nematus after Gal and
    Ghahramani 2016) and its own product.
    """

    parts: list[Product | Itself]
    masks: list[Fixed | None]  # (B,N) each, the same at every position
    widths: list[list[int]]  # of the matrices, by group

    @classmethod
    def of(
        cls,
        groups: list[list[Tensor | None]],
        product: Callable[[list[Tensor]], Product],
        masks: list[Tensor | None] | None = None,
    ) -> Self:
        """product: constructs the product with matrices (N,..) side by side. A None among the
        matrices stands for the input itself. masks: one per matrix, or None.
        """
        matrices = [matrix for group in groups for matrix in group]
        rows = {int(matrix.shape[0]) for matrix in matrices if matrix is not None}
        widths = [
            [int(matrix.shape[-1]) if matrix is not None else max(rows) for matrix in group]
            for group in groups
        ]
        runs = [[matrix] for matrix in matrices]
        if masks is None or all(mask is None for mask in masks):
            runs = [list(run) for _, run in itertools.groupby(matrices, lambda m: m is None)]
            masks = [None] * len(runs)
        parts = [Itself() if run[0] is None else product(run) for run in runs]
        return cls(parts, [mask if mask is None else Fixed(mask) for mask in masks], widths)

    @property
    def width(self) -> int:
        """The number of columns of all groups together."""
        return sum(map(sum, self.widths))

    @property
    def single(self) -> Product:
        """The product of a single matrix."""
        (part,) = self.parts
        return cast(Product, part)

    def __call__(self, x: Tensor) -> list[Tensor]:
        """x: (...,N) -> float32 (...,width) for each group."""
        return self.apart(self.joined(x))

    def joined(self, x: Tensor) -> Tensor:
        """x: (...,N) -> float32 (...,all widths), the groups concatenated."""
        if not self.parts:
            return x[..., :0]
        products = []
        for part, mask in zip(self.parts, self.masks, strict=True):
            products += part(x if mask is None else x * mask.value)
        return products[0] if len(products) == 1 else ops.concat(products, axis=-1)

    def apart(self, y: Tensor) -> list[Tensor]:
        """(...,all widths) -> (...,width) for each group."""
        if len(self.widths) == 1:
            return [y]
        return ops.split(y, [*map(sum, self.widths)], axis=-1)

    def at_positions(self) -> Self:
        """The product for inputs (B,S,N), where a sentence has one mask for all its positions."""
        masks = [mask and Fixed(ops.expand_dims(mask.value, 1)) for mask in self.masks]
        return self._replace(masks=masks)

    def for_rows(self, sentence: Tensor | None) -> Self:
        """The product for rows of these sentences (N,); None if each row is a sentence."""
        if sentence is None:
            return self
        masks = [mask and Fixed(ops.take(mask.value, sentence)) for mask in self.masks]
        return self._replace(masks=masks)
