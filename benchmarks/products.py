"""The plain matrix products of a model over given sentences: a lower bound of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.cells import CellPlace, base_cells, encoder_cells
from cgru_cli.parameters.structure import Structure, Type, Unit
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.structure_from_options import new_structure

_COLUMNS = {Unit.GRU: 3, Unit.GRU_BEFORE: 3, Unit.LSTM: 4}  # times the state; 1 for others
_LONGEST = 50  # the largest mean length of a batch for which there are inputs


def shallow(
    sizes: Sequence[int], kind: str = "cgru", cell: str = "gru", reader: str | None = None
) -> Structure:
    """A shallow structure; sizes: embedding, state and vocabulary."""
    embedding, state, words = sizes
    vocabulary = Vocabulary({"</s>": 0, "<unk>": 1} | {str(i): i for i in range(2, words)})
    options = TrainOptions(type=kind, cell=cell, enc_type=reader, dim_emb=embedding, dim_rnn=state)
    return new_structure(options, [vocabulary] if kind == "lm" else [vocabulary] * 2)


class Side(NamedTuple):
    """The products for each word of a side, as (rows, columns) of the matrix."""

    at_once: list[tuple[int, int]]  # over all positions at once
    by_step: list[tuple[int, int]]  # position by position


def sides(s: Structure) -> tuple[Side, Side]:
    """The products of a shallow model for each word of source and target.

    Products that are computed once per sentence (the start, the summary of encdec) are left out.
    """
    sizes = s.sizes()
    d, e, c = s.state, s.target_embedding, s.context
    source, target = Side([], []), Side([], [])

    def columns(cell: CellPlace) -> int:
        return _COLUMNS.get(cell.unit, 1) * d

    def of_state(cell: CellPlace) -> list[tuple[int, int]]:
        if cell.unit is Unit.GRU_BEFORE:  # the proposal waits for the reset
            return [(d, 2 * d), (d, d)]
        return [(d, columns(cell))]

    for direction in s.directions(1) if s.type.reads_source else ():
        (cell,) = encoder_cells(s, direction, 1)
        source.at_once.append((sizes[cell.input], columns(cell)))
        source.by_step.extend(of_state(cell))
    if s.type.attends:
        source.at_once.append((c, c))
        target.by_step.append((d, c))
        target.at_once.append((c, e))
    first, *others = base_cells(s)
    target.at_once.append((e, columns(first)))
    target.by_step.extend(of_state(first))
    for cell in others:
        target.by_step.extend([(sizes[cell.input], columns(cell)), *of_state(cell)])
    if s.type is Type.RNNSEARCH:
        target.by_step.append((c, columns(first)))
    target.at_once.extend([(e, e), (d, e), (e, s.target_vocabulary)])
    return source, target


class Products:
    """The products of a batch, one TensorFlow product each, with prepared inputs.

    Recurrent ones are computed step by step, `rows` at a time, the others over all positions at
    once.
    """

    def __init__(
        self, structure: Structure, rows: int, precision: str, *, differentiable: bool = True
    ):
        """differentiable: also compute those of the backward pass."""
        self.rows = rows
        both_sides = sides(structure)

        def normal(*shape: int) -> tf.Tensor:
            return tf.cast(tf.random.normal(shape), tf.dtypes.as_dtype(precision))

        read = {m for side in both_sides for products in side for m, _ in products}
        inputs = {n: normal(_LONGEST * rows, n) for n in read}

        def forward_only(at_once: list, by_step: list) -> tuple:
            # all inputs differ, because TensorFlow would compute equal products once
            given = [(inputs[m], normal(m, n)) for m, n in at_once + by_step]

            def products(given: list, rows: tf.Tensor) -> list:
                return [tf.matmul(x[:rows], w) for x, w in given]

            once, steps = given[: len(at_once)], given[len(at_once) :]
            return lambda n: products(once, n), lambda n: products(steps, n)

        def both_ways(at_once: list, by_step: list) -> tuple:
            """All products: over all positions with the weights' gradients, or of one step
            without."""
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
        self._sides = [_traced(*products(*side)) if side.at_once else None for side in both_sides]

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
