"""Every unit equals the stock Keras cell with rearranged arrays."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tolerances import ONE_STEP

from cgru_cli.network.products import Product, Products
from cgru_cli.network.units import GRU, LSTM, PHI, GRUBefore, Plain, Sums
from cgru_cli.parameters.cells import BiasPlace
from cgru_cli.parameters.structure import Unit

D, E, R = 6, 4, 5


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(0, 0.7, shape).astype(np.float32)


def step(unit, state, U, W):
    x = unit.sums.from_input(tf.constant(numbers(R, E) @ W))
    return unit.step(tuple(map(tf.constant, state)), tf.constant(state[0] @ U), x)


def reordered(array, order):
    """Blocks of columns in another order."""
    blocks = np.split(array, len(order), axis=-1)
    return np.concatenate([blocks[i] for i in order], axis=-1)


def stock(cell, weights, state):
    cell.build((R, E))
    cell.set_weights(weights)
    return cell(numbers(R, E), list(state))[1]


@pytest.mark.parametrize("place", [BiasPlace.INPUT, BiasPlace.STATE])
def test_gru(place):
    """GRUCell(reset_after=True): bias [[b],[0]] or [[0],[b]], gates as [z | r]."""
    W, U, b, h = numbers(E, 3 * D), numbers(D, 3 * D), numbers(3 * D), numbers(R, D)
    biases = [reordered(b, (1, 0, 2)), np.zeros(3 * D)]
    weights = [
        reordered(W, (1, 0, 2)),
        reordered(U, (1, 0, 2)),
        np.stack(biases if place is BiasPlace.INPUT else biases[::-1]),
    ]
    expected = stock(keras.layers.GRUCell(D, reset_after=True), weights, [h])
    own = step(GRU(Sums(place, tf.constant(b))), (h,), U, W)
    np.testing.assert_allclose(own[0], expected[0], atol=ONE_STEP)


@pytest.mark.parametrize("place", [BiasPlace.INPUT, BiasPlace.STATE])
def test_gru_with_the_reset_before(place):
    W, U, b, h = numbers(E, 3 * D), numbers(D, 3 * D), numbers(3 * D), numbers(R, D)
    weights = [reordered(W, (1, 0, 2)), reordered(U, (1, 0, 2)), reordered(b, (1, 0, 2))]
    expected = stock(keras.layers.GRUCell(D, reset_after=False), weights, [h])
    at_state = place if place is BiasPlace.STATE else BiasPlace.NONE
    unit = GRUBefore(
        Sums(place, tf.constant(b)),
        Sums(at_state, tf.constant(b[: 2 * D])),
        Sums(at_state, tf.constant(b[2 * D :])),
        Products.of([[tf.constant(U[:, 2 * D :])]], lambda matrices: Product(*matrices)),
    )
    own = step(unit, (h,), U[:, : 2 * D], W)
    np.testing.assert_allclose(own[0], expected[0], atol=ONE_STEP)


def test_lstm():
    """Keras orders the blocks i, f, c, o; here they are f, i, c, o, as in Marian."""
    W, U, b, h, c = numbers(E, 4 * D), numbers(D, 4 * D), numbers(4 * D), numbers(R, D), numbers(D)
    c = np.tile(c, (R, 1))
    weights = [reordered(a, (1, 0, 2, 3)) for a in (W, U, b)]
    expected = stock(keras.layers.LSTMCell(D), weights, [h, c])
    own = step(LSTM(Sums(BiasPlace.INPUT, tf.constant(b))), (h, c), U, W)
    for mine, theirs in zip(own, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=ONE_STEP)


@pytest.mark.parametrize("kind", [Unit.TANH, Unit.RELU, Unit.SIGMOID])
def test_plain(kind):
    W, U, b, h = numbers(E, D), numbers(D, D), numbers(D), numbers(R, D)
    expected = stock(keras.layers.SimpleRNNCell(D, activation=kind.value), [W, U, b], [h])
    own = step(Plain(Sums(BiasPlace.STATE, tf.constant(b)), PHI[kind]), (h,), U, W)
    np.testing.assert_allclose(own[0], expected[0], atol=ONE_STEP)
