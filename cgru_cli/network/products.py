"""Matrix products as objects, which `scan` records and replays in training."""

import itertools
from collections.abc import Callable
from typing import NamedTuple, Self, cast

import tensorflow as tf

from .inference import with_gradient


class Fixed:
    """Tensors without a gradient, such as masks or indices."""

    def __init__(self, value: tf.Tensor | tuple[tf.Tensor, ...]):
        self.value = value


class Product:
    """x W, computed in the type of the matrix, with a float32 result.

    matrix: (N,M) for all rows, or (B,N,M), one matrix per sentence.
    """

    def __init__(self, matrix: tf.Tensor):
        self.matrix = matrix

    @property
    def dtype(self) -> tf.DType:
        """The inputs' dtype."""
        return self.matrix.dtype

    @property
    def shape(self) -> tf.TensorShape:
        """The matrix's shape."""
        return self.matrix.shape

    def __call__(self, x: tf.Tensor) -> list[tf.Tensor]:
        """x: (...,N) -> one (...,M)."""
        return [self.multiply(tf.cast(x, self.dtype))]

    def multiply(self, x: tf.Tensor) -> tf.Tensor:
        """x: (...,N) in the matrix's type -> (...,M) float32."""
        if self.shape.rank == 3 or x.shape.rank == 2:
            return self.multiply_rows(x)
        y = self.multiply_rows(tf.reshape(x, [-1, x.shape[-1]]))
        return tf.reshape(y, tf.concat([tf.shape(x)[:-1], [self.shape[-1]]], axis=0))

    def multiply_rows(self, x: tf.Tensor) -> tf.Tensor:
        """x: (R,N), or (B,R,N) with a matrix per sentence -> (R,M) or (B,R,M) float32."""
        return tf.cast(tf.matmul(x, self.matrix), tf.float32)

    def columns(self, places: tf.Tensor) -> list[tf.Tensor]:
        """The tensors for `with_columns`: columns of the matrix at indices (M',)."""
        return [tf.gather(self.matrix, places, axis=1)]

    def with_columns(self, columns: list[tf.Tensor]) -> "Product":
        """The product with the columns that `columns` returned."""
        (matrix,) = columns
        return Product(matrix)


class Itself(NamedTuple):
    """The input itself, instead of a product."""

    def __call__(self, x: tf.Tensor) -> list[tf.Tensor]:
        """x: (...,N), in float32."""
        return [tf.cast(x, tf.float32)]


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
        groups: list[list[tf.Tensor | None]],
        product: Callable[[tf.Tensor], Product] = Product,
        masks: list[tf.Tensor | None] | None = None,
    ) -> Self:
        """product: constructs the product with a matrix (N,M). A None among the matrices stands for
        the input itself. masks: one per matrix, or None.
        """
        matrices = [matrix for group in groups for matrix in group]
        rows = {int(matrix.shape[0]) for matrix in matrices if matrix is not None}
        widths = [
            [int(matrix.shape[-1]) if matrix is not None else max(rows) for matrix in group]
            for group in groups
        ]
        if masks is None or all(mask is None for mask in masks):
            runs = [list(run) for _, run in itertools.groupby(matrices, lambda m: m is None)]
            matrices = [run[0] if len(run) == 1 else tf.concat(run, axis=1) for run in runs]
            masks = [None] * len(matrices)
        parts = [Itself() if matrix is None else product(matrix) for matrix in matrices]
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

    def __call__(self, x: tf.Tensor) -> list[tf.Tensor]:
        """x: (...,N) -> float32 (...,width) for each group."""
        return self.apart(self.joined(x))

    def joined(self, x: tf.Tensor) -> tf.Tensor:
        """x: (...,N) -> float32 (...,all widths), the groups concatenated."""
        if not self.parts:
            return x[..., :0]
        products = []
        for part, mask in zip(self.parts, self.masks, strict=True):
            products += part(x if mask is None else x * mask.value)
        return products[0] if len(products) == 1 else tf.concat(products, axis=-1)

    def apart(self, y: tf.Tensor) -> list[tf.Tensor]:
        """(...,all widths) -> (...,width) for each group."""
        if len(self.widths) == 1:
            return [y]
        return tf.split(y, [*map(sum, self.widths)], axis=-1)

    def at_positions(self) -> Self:
        """The product for inputs (B,S,N), where a sentence has one mask for all its positions."""
        masks = [mask and Fixed(tf.expand_dims(mask.value, 1)) for mask in self.masks]
        return self._replace(masks=masks)

    def for_rows(self, sentence: tf.Tensor | None) -> Self:
        """The product for rows of these sentences (N,); None if each row is a sentence."""
        if sentence is None:
            return self
        masks = [mask and Fixed(tf.gather(mask.value, sentence)) for mask in self.masks]
        return self._replace(masks=masks)


def at_once(function: Callable[..., tf.Tensor], *given: tf.Tensor) -> tf.Tensor:
    """The function's result, with all its gradients computed together.

    Otherwise TensorFlow computes the gradient of a bias last, because no other operation needs it,
    and until then keeps the gradient of the logits, the largest tensor of an update.
    """

    @with_gradient
    def run(*given: tf.Tensor) -> tuple:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(given)
            result = function(*given)

        def gradient(d_result: tf.Tensor) -> list[tf.Tensor]:
            gradients = tape.gradient(result, given, output_gradients=d_result)
            with tf.control_dependencies(gradients):
                return [tf.identity(part) for part in gradients]

        return result, gradient

    return run(*map(tf.convert_to_tensor, given))
