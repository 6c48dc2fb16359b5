"""The plain products of a model run over given sentences: the least that they can cost."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

_LONGEST = 50  # sentences of a batch, in the mean; there are inputs for so many words


class Products:
    """Products of a batch, one TensorFlow product each, of inputs that lie ready.

    Recurrent ones go step by step, `rows` at a time, the rest over all positions at once.
    """

    def __init__(
        self, sizes: Sequence[int], rows: int, precision: str, *, differentiable: bool = True
    ):
        """sizes: of embedding, state and vocabulary; differentiable: the backward pass's too."""
        e, d, v = sizes
        c = 2 * d
        self.rows = rows
        # of each word: for all positions at once, and step by step
        source = [(e, 3 * d)] * 2 + [(c, c)], [(d, 3 * d)] * 2
        target = (
            [(e, 3 * d), (e, e), (d, e), (c, e), (e, v)],
            [(d, 3 * d), (d, c), (d, 3 * d), (c, 3 * d)],
        )

        def normal(*shape: int) -> tf.Tensor:
            return tf.cast(tf.random.normal(shape), tf.dtypes.as_dtype(precision))

        inputs = {n: normal(_LONGEST * rows, n) for n in {c, d, e}}

        def forward_only(at_once: list, by_step: list) -> tuple:
            # nothing of two products is the same, or it would be computed once
            given = [(inputs[m], normal(m, n)) for m, n in at_once + by_step]

            def products(given: list, rows: tf.Tensor) -> list:
                return [tf.matmul(x[:rows], w) for x, w in given]

            once, steps = given[: len(at_once)], given[len(at_once) :]
            return lambda n: products(once, n), lambda n: products(steps, n)

        def both_ways(at_once: list, by_step: list) -> tuple:
            """Of all positions, with the weights' gradients; of one step, without."""
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

        products = both_ways if differentiable else forward_only
        self._sides = [_traced(*products(*side)) for side in (source, target)]

    def __call__(self, source: int, target: int) -> None:
        """Of so many words on either side."""
        for (once, step), words in zip(self._sides, (source, target), strict=True):
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
    """A number of each product, so that all are computed and none is copied."""
    return tf.stack([product[0, 0] for product in products])
