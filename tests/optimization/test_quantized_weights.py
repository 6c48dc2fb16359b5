"""Weights rounded to levels, compared with NumPy after the paper (Aji and Heafield 2020)."""

import numpy as np
import pytest
import tensorflow as tf
from scripted_step import START, Scripted, random_script, same
from tables import each_row

from cgru_cli.optimization.quantized_weights import Quantization


def levels(bits, log_based):
    """All levels of the scale 1, one by one."""
    n = 2 ** (bits - 1) - 1
    sizes = [0.5**i for i in range(n + 1)] if log_based else [i / n for i in range(n + 1)]
    return np.unique([0.0] * log_based + sizes + [-size for size in sizes])


def nearest(weights, scale, bits, log_based):
    """The nearest of all levels for each weight; log-based levels include 0."""
    grid = levels(bits, log_based)
    if log_based:
        grid = grid[grid != 0]
    grid = grid[np.argsort(-np.abs(grid))]  # of two equally near, the larger
    at = grid[np.abs(weights[..., None] / scale - grid).argmin(-1)] * scale
    return np.where(weights == 0, 0.0, at) if log_based else at


def quantized(weights, bits, log_based=False, steps=0):
    """By the paper: the scale S is max|W|, then argmin over S of |S * levels - W|^2, repeated."""
    scale = np.abs(weights).max()
    for _ in range(steps):
        here = nearest(weights, scale, bits, log_based).ravel() / scale
        ((scale,), *_) = np.linalg.lstsq(here[:, None], weights.ravel())
    return nearest(weights, scale, bits, log_based)


@each_row("steps", [0, 1, 3])
@each_row(
    ("bits", "log_based"), [(2, False), (3, False), (8, False), (1, True), (3, True), (4, True)]
)
def test_rounding_equals_numpy(bits, log_based, steps):
    weights = np.random.default_rng(bits).normal(size=(40, 30)).astype(np.float32)
    weights[0, :5] = 0
    made = Quantization(bits, log_based, steps).quantized(tf.constant(weights)).numpy()
    np.testing.assert_allclose(
        made, quantized(weights.astype(np.float64), bits, log_based, steps), rtol=1e-5, atol=1e-6
    )
    assert 1 < len(np.unique(made)) <= len(levels(bits, log_based))


def test_fitting_the_scale_brings_the_levels_nearer():
    weights = np.random.default_rng(1).normal(size=(40, 30)).astype(np.float32)

    def error(steps):
        made = Quantization(2, False, steps).quantized(tf.constant(weights)).numpy()
        return np.square(made - weights).sum()

    assert error(3) < 0.9 * error(0)


@pytest.mark.parametrize("log_based", [False, True])
@pytest.mark.parametrize("steps", [0, 2])
def test_zeros_stay(log_based, steps):
    zeros = tf.zeros((3, 4))
    np.testing.assert_array_equal(Quantization(4, log_based, steps).quantized(zeros), zeros)


@pytest.mark.parametrize("given", [(3,), (3, True), (3, False, 2), (3, False, 0, True)], ids=str)
def test_errors_are_added_before_the_next_rounding(given):
    """An update starts from the levels plus the rounding errors."""
    bits, log_based, steps, biases = (*given, *(False, 0, False)[len(given) - 1 :])
    step = Scripted(quantization=Quantization(*given))
    arrays = {n: np.array(a, np.float64) for n, a in START.items()}
    chosen = ["a", "b"] if biases else ["a"]
    arrays |= {n: quantized(arrays[n], bits, log_based, steps) for n in chosen}
    errors = dict.fromkeys(chosen, 0.0)  # Marian does not keep the first error
    taken = 0.0
    for cost, gradients in random_script(6):
        step.follow((cost, gradients), rate=0.2)
        arrays = {n: array - 0.2 * gradients[n] for n, array in arrays.items()}
        for name in chosen:
            whole = arrays[name] + errors[name]
            arrays[name] = quantized(whole, bits, log_based, steps)
            errors[name] = whole - arrays[name]
            taken += np.abs(errors[name]).sum()
        for name, array in step.weights().items():
            np.testing.assert_allclose(array, arrays[name], rtol=1e-5, atol=1e-6, err_msg=name)
    assert taken > 0.5


def test_small_steps_add_up():
    """Each is less than half of the way to another level."""
    step = Scripted(quantization=Quantization(3))
    before = step.weights()["a"]
    small = {"a": [[0.0, 0.0, 0.06]], "b": [0.0, 0.0]}
    for _ in range(3):
        step.follow((1.0, small), rate=1.0)
    assert step.weights()["a"][0, 2] == before[0, 2]
    for _ in range(6):
        step.follow((1.0, small), rate=1.0)
    assert step.weights()["a"][0, 2] < before[0, 2] - 0.5


def test_frozen_weights_are_rounded_once():
    step = Scripted(quantization=Quantization(2, scale_steps=2), frozen=["a"])
    first = step.weights()["a"]
    np.testing.assert_allclose(
        first, quantized(np.array(START["a"]), 2, False, 2), rtol=1e-6, atol=1e-7
    )
    step.follow(*random_script(1))
    np.testing.assert_array_equal(step.weights()["a"], first)


def test_averages_use_the_weights_before_rounding():
    step = Scripted(quantization=Quantization(2), smoothing=0.5)
    ((cost, gradients),) = random_script(1)
    start = step.model.arrays()["a"]
    step.follow((cost, gradients), rate=0.1)
    share = 1 - 1 / 10
    followed = start - 0.1 * gradients["a"]
    np.testing.assert_allclose(
        step.weights()["a"], (1 - share) * start + share * followed, rtol=1e-5
    )


def test_a_restored_step_continues_bit_exactly():
    def new():
        return Scripted("adam", smoothing=0.1, quantization=Quantization(3, False, 2))

    script = random_script(6)
    whole = new()
    for place, update in enumerate(script):
        if place == 3:
            state = {n: np.array(a) for n, a in whole.state().items()}
        whole.follow(update)
    assert np.abs(state["quantization_error/a"]).max() > 0.01
    resumed = new()
    resumed.restore(state)
    same(resumed.state(), state)
    for update in script[3:]:
        resumed.follow(update)
    same(resumed.state(), whole.state())
    with pytest.raises(ValueError, match="arrays that differ"):
        Scripted("adam", smoothing=0.1).restore(state)


def test_a_gradient_that_is_not_finite_changes_nothing():
    step = Scripted(quantization=Quantization(3))
    first, second = random_script(2)
    step.follow(first)
    before = step.state()
    second[1]["a"][:] = np.nan
    assert not step.follow(second).applied
    same(step.state(), before)
