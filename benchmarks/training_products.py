"""The plain matrix products of an update by TensorFlow: a lower bound of its time."""

from __future__ import annotations

import tensorflow as tf
from products import sides

from cgru_cli.parameters.structure import Structure

_LONGEST = 50  # the largest mean length of a batch for which there are inputs


class TrainingProducts:
    """The products of an update, forward and backward, with prepared inputs.

    Recurrent ones are computed step by step, `rows` at a time, the others over all positions at
    once.
    """

    def __init__(self, structure: Structure, rows: int, precision: str):
        self.rows = rows
        both_sides = sides(structure)

        def normal(*shape: int) -> tf.Tensor:
            return tf.cast(tf.random.normal(shape), tf.dtypes.as_dtype(precision))

        read = {m for side in both_sides for products in side for m, _ in products}
        inputs = {n: normal(_LONGEST * rows, n) for n in read}

        def both_ways(at_once: list, by_step: list) -> tuple:
            """All products: over all positions with the weights' gradients, or of one step
            without."""
            # all inputs differ, because TensorFlow would compute equal products once
            given = [
                (inputs[m], normal(m, n), normal(n, m), normal(_LONGEST * rows, n))
                for m, n in at_once + by_step
            ]

            def both(given: list, rows: tf.Tensor) -> list:
                forward = [tf.matmul(x[:rows], w) for x, w, _, _ in given]
                return forward + [tf.matmul(dy[:rows], w) for _, _, w, dy in given]

            def of_weights(rows: tf.Tensor) -> list:
                return [tf.matmul(x[:rows], dy[:rows], transpose_a=True) for x, _, _, dy in given]

            once, steps = given[: len(at_once)], given[len(at_once) :]
            return lambda n: both(once, n) + of_weights(n), lambda n: both(steps, n)

        self._sides = [_traced(*both_ways(*side)) if side.at_once else None for side in both_sides]

    def __call__(self, source: int, target: int) -> None:
        """Compute the products for these numbers of words."""
        for side, words in zip(self._sides, (source, target), strict=True):
            if side is None:
                continue
            once, step = side
            results = [once(tf.constant(words))]
            for start in range(0, words, self.rows):
                results.append(step(tf.constant(min(self.rows, words - start))))
            for result in results:
                result.numpy()


def _traced(*functions) -> list:
    signature = [tf.TensorSpec([], tf.int32)]
    return [
        tf.function(lambda n, f=f: _corners(f(n)), input_signature=signature, autograph=False)
        for f in functions
    ]


def _corners(products: list) -> tf.Tensor:
    """One number of each product, so that all are computed and none is copied."""
    return tf.stack([product[0, 0] for product in products])
