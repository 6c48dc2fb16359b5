"""The lesson's minGRU and minLSTM compute the equations of the paper, in both ways."""

import math

import minimal_cells
import numpy as np
import tensorflow as tf
from tables import each_row

from cgru_cli.network.units import SSRU, Sums
from cgru_cli.parameters.cells import BiasPlace

E, D = 3, 4


def logistic(x):
    return 1 / (1 + math.exp(-x))


def states_of_the_paper(kind, x, W):
    """All states, number by number (algorithms 1 and 3 of the paper)."""
    h, found = [0.0] * D, []
    for row in x:
        product = [sum(row[n] * W[n][k] for n in range(E)) for k in range(W.shape[1])]
        for d in range(D):
            if kind == "min_gru":
                z = logistic(product[d])
                h[d] = (1 - z) * h[d] + z * product[D + d]
            else:
                f, i = logistic(product[d]), logistic(product[D + d])
                h[d] = f / (f + i) * h[d] + i / (f + i) * product[2 * D + d]
        found.append(list(h))
    return found


@each_row("steps", [1, 2, 3, 8, 21])
@each_row(("kind", "matrices"), [("min_gru", 2), ("min_lstm", 3)])
def test_both_ways_compute_the_paper(kind, matrices, steps):
    random = np.random.default_rng(steps)
    x, W = random.normal(size=(steps, E)), random.normal(size=(E, matrices * D))
    a, b = getattr(minimal_cells, kind)(x, W)
    expected = states_of_the_paper(kind, x, W)
    np.testing.assert_allclose(minimal_cells.step_by_step(a, b), expected, rtol=1e-12)
    np.testing.assert_allclose(minimal_cells.in_parallel(a, b), expected, rtol=1e-12)


def test_the_scan_computes_the_memory_of_an_ssru():
    random = np.random.default_rng(7)
    x = random.normal(size=(30, 2 * D)).astype(np.float32)
    unit, state, memories = SSRU(Sums(BiasPlace.NONE, None)), (tf.zeros([1, D]),) * 2, []
    for row in x:
        state = unit.step(state, tf.zeros([1, 0]), tf.constant(row[None]))
        memories.append(state[1][0])
    forget = minimal_cells.sigma(x[:, D:])
    found = minimal_cells.in_parallel(forget, (1 - forget) * x[:, :D])
    np.testing.assert_allclose(found, memories, atol=1e-6)
