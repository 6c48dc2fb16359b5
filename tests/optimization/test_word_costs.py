"""Costs of words, compared with float64 NumPy and TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.optimization.word_costs import word_costs

SCALES = (1e-3, 1.0, 30.0, 1e4)
SMOOTHINGS = (0.0, 0.1, 0.5, 0.9)


def rows(seed, count, words, scale):
    """Logits (N,V), words (N,), and gradients (N,) of their costs."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, scale, (count, words)).astype(np.float32)
    return logits, rng.integers(words, size=count).astype(np.int32), rng.normal(size=count)


def by_numpy(logits, words, smoothing, above):
    """Costs (N,) and their gradient (N,V) in float64, from the definition."""
    logits = logits.astype(np.float64)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = exponentials / exponentials.sum(axis=1, keepdims=True)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(exponentials.sum(axis=1, keepdims=True))
    wanted = np.full(logits.shape, smoothing / logits.shape[1])
    wanted[np.arange(len(words)), words] += 1 - smoothing
    return -(wanted * log_p).sum(axis=1), (p - wanted) * above[:, None]


def test_shares_of_several_words_equal_numpy_and_differences():
    logits, _, above = rows(4, 6, 11, 2.0)
    rng = np.random.default_rng(4)
    words = rng.integers(11, size=(6, 3)).astype(np.int32)  # some twice in a row
    shares = rng.dirichlet(np.ones(3), size=6)
    logits = logits.astype(np.float64)

    def by_definition(logits):
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        wanted = np.full(logits.shape, 0.1 / 11)
        for row in range(6):
            for word, share in zip(words[row], shares[row], strict=True):
                wanted[row, word] += 0.9 * share
        return -(wanted * np.log(p)).sum(axis=1)

    for compiled in (False, True):
        given = tf.constant(logits)
        with tf.GradientTape() as tape:
            tape.watch(given)
            found = word_costs(
                given, tf.constant(words), 0.1, shares=tf.constant(shares), compiled=compiled
            )
        np.testing.assert_allclose(found, by_definition(logits), rtol=1e-12)
        gradient = tape.gradient(found, given, output_gradients=tf.constant(above)).numpy()
        for row, word in np.ndindex(logits.shape):
            moved = logits.copy()
            moved[row, word] += 1e-6
            difference = (by_definition(moved) - by_definition(logits))[row] / 1e-6 * above[row]
            assert gradient[row, word] == pytest.approx(difference, abs=1e-5)


def computed(costs, logits, above):
    """Costs and their gradient."""
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        found = costs(logits)
    gradient = tape.gradient(found, logits, output_gradients=tf.constant(above, tf.float32))
    return found.numpy(), gradient.numpy()


@settings(max_examples=60)
@given(
    st.integers(0, 9999),
    st.integers(1, 5),
    st.integers(2, 40),
    st.sampled_from(SCALES),
    st.sampled_from(SMOOTHINGS),
)
def test_word_costs_equal_numpy(seed, count, words, scale, smoothing):
    logits, wanted, above = rows(seed, count, words, scale)
    found, gradient = computed(
        lambda x: word_costs(x, tf.constant(wanted), smoothing), logits, above
    )
    cost, expected = by_numpy(logits, wanted, smoothing, above)
    np.testing.assert_allclose(found, cost, rtol=1e-5, atol=1e-6 * max(1.0, scale))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_word_costs_equal_tensorflows(smoothing):
    logits, wanted, above = rows(1, 50, 300, 3.0)
    labels = (1 - smoothing) * tf.one_hot(wanted, 300) + smoothing / 300
    own = computed(lambda x: word_costs(x, tf.constant(wanted), smoothing), logits, above)
    stock = computed(lambda x: tf.nn.softmax_cross_entropy_with_logits(labels, x), logits, above)
    for one, other in zip(own, stock, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_extreme_logits(smoothing):
    """Probabilities are exactly 1 and 0, costs are differences of logits."""
    logits = np.array([[1e4, -1e4, 0, 0], [1e4, -1e4, 0, 0], [-1e4] * 4, [1e4] * 4], np.float32)
    words = np.arange(4, dtype=np.int32)
    found, gradient = computed(
        lambda x: word_costs(x, tf.constant(words), smoothing), logits, np.ones(4)
    )
    of_all = np.mean([0, 2e4, 1e4, 1e4])
    expected = [
        smoothing * of_all,
        (1 - smoothing) * 2e4 + smoothing * of_all,
        np.log(4),
        np.log(4),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    p = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0.25] * 4, [0.25] * 4])
    wanted = (1 - smoothing) * np.eye(4) + smoothing / 4
    np.testing.assert_allclose(gradient, p - wanted, atol=1e-6)
