"""The plain matrix products of a forward pass, by ONNX Runtime: a lower bound of its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cgru_cli.network import ops
from cgru_cli.network.engines import onnx
from cgru_cli.network.graphs import OUTSIDE, Computation
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.cells import CellPlace, base_cells, encoder_cells
from cgru_cli.parameters.structure import Structure, Type, Unit
from cgru_cli.search.runtime import Session, Settings
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.structure_from_options import new_structure

_COLUMNS = {Unit.GRU: 3, Unit.GRU_BEFORE: 3, Unit.LSTM: 4}  # times the state; 1 for others


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
    """A product with each of some random matrices (M,N), all in one call of ONNX Runtime.

    Products with the same M have the same input.
    """

    def __init__(self, matrices: Sequence[tuple[int, int]], threads: int):
        self._widths = sorted({m for m, _ in matrices})
        chance = np.random.default_rng(1)

        def normal(*shape: int) -> ops.Tensor:
            return ops.convert(chance.standard_normal(shape, np.float32))

        with ops.using(onnx), onnx.graph() as graph:
            inputs = {m: onnx.new_input(str(m), "float32", [None, m]) for m in self._widths}
            # one number of each product, so that all are computed and none is copied
            results = {
                f"y{i}": ops.matmul(inputs[m], normal(m, n))[:1, :1]
                for i, (m, n) in enumerate(matrices)
            }
            computation = Computation(*onnx.model_of(graph, results, outside=OUTSIDE))
        self._session = Session(computation, Settings("cpu", threads))

    def __call__(self, rows: int) -> None:
        """Compute the products of this number of rows."""
        inputs = {str(m): np.ones((rows, m), np.float32) for m in self._widths}
        self._session.run(self._session.outputs, inputs)


class ScoringProducts:
    """The products of scoring a batch.

    Recurrent ones are computed step by step, `rows` at a time, the others over all positions at
    once.
    """

    def __init__(self, structure: Structure, rows: int, threads: int):
        self._rows = rows
        self._sides = [
            [Products(matrices, threads) for matrices in side] if side.at_once else None
            for side in sides(structure)
        ]

    def __call__(self, source: int, target: int) -> None:
        """Compute the products for these numbers of words."""
        for side, words in zip(self._sides, (source, target), strict=True):
            if side is None:
                continue
            at_once, by_step = side
            at_once(words)
            for start in range(0, words, self._rows):
                by_step(min(self._rows, words - start))
