"""Costs of attention, compared with the definitions in float64 NumPy and central differences."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from models import double_precision

from cgru_cli.optimization.objective import attention_costs

KINDS = ("ce", "mse", "mult")


def drawn(seed, shape=(3, 4, 5), scale=2.0):
    """Energies (B,T,S), and an alignment: some words to none, some to several."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, scale, shape), rng.random(shape) < 0.3


def shares_of(aligned):
    return aligned / np.maximum(aligned.sum(axis=-1, keepdims=True), 1)


def softmax(energies):
    e = np.exp(energies - energies.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_numpy(alpha, aligned, kind):
    """Word by word."""
    costs = np.zeros(alpha.shape[:2])
    for b, j in np.ndindex(costs.shape):
        words = np.flatnonzero(aligned[b, j])
        if not len(words):
            continue
        if kind == "ce":
            costs[b, j] = np.mean([-np.log(alpha[b, j, i] + 1e-6) for i in words])
        elif kind == "mse":
            wanted = np.zeros(alpha.shape[2])
            wanted[words] = 1 / len(words)
            costs[b, j] = ((alpha[b, j] - wanted) ** 2).sum() / 2
        else:
            costs[b, j] = -np.log(alpha[b, j, words].sum() + 1e-6)
    return costs


def in_float64(energies, aligned, kind):
    """Costs, and the gradient of their sum with respect to the energies."""
    with double_precision():
        e = tf.constant(energies)
        with tf.GradientTape() as tape:
            tape.watch(e)
            costs = attention_costs(tf.nn.softmax(e), tf.constant(shares_of(aligned)), kind)
            total = tf.reduce_sum(costs)
        return costs.numpy(), tape.gradient(total, e).numpy()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(st.integers(0, 9999), st.sampled_from([0.1, 2.0, 20.0]))
def test_costs_equal_numpy(kind, seed, scale):
    energies, aligned = drawn(seed, scale=scale)
    expected = by_numpy(softmax(energies), aligned, kind)
    costs, _ = in_float64(energies, aligned, kind)
    np.testing.assert_allclose(costs, expected, rtol=1e-9, atol=1e-12)
    alpha = tf.constant(softmax(energies), tf.float32)
    found = attention_costs(alpha, tf.constant(shares_of(aligned), tf.float32), kind)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert not found.numpy()[~aligned.any(axis=-1)].any()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_equal_central_differences(kind):
    energies, aligned = drawn(1)
    _, gradient = in_float64(energies, aligned, kind)
    for place in np.ndindex(energies.shape):
        both = []
        for step in (1e-5, -1e-5):
            moved = energies.copy()
            moved[place] += step
            both.append(by_numpy(softmax(moved), aligned, kind).sum())
        assert gradient[place] == pytest.approx((both[0] - both[1]) / 2e-5, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_is_least_if_attention_equals_the_alignment(kind):
    """For ce, it is the entropy of the shares; without attention there, it is high and finite."""
    aligned = np.array([[[True, True, False], [False, True, False]]])
    right, wrong = shares_of(aligned), np.array([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    least = [np.log(2), 0.0] if kind == "ce" else [0.0, 0.0]
    for alpha, expected in ((right, least), (wrong, None)):
        alpha = tf.Variable(alpha, dtype=tf.float32)
        with tf.GradientTape() as tape:
            costs = attention_costs(alpha, tf.constant(right, tf.float32), kind)
        assert np.isfinite(tape.gradient(costs, alpha)).all()
        if expected is None:
            assert costs.numpy().min() > 0.5
        else:
            np.testing.assert_allclose(costs[0], expected, atol=3e-6)
