"""The best words of each row, found in blocks."""

import functools

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from selection import LONG, in_turns
from tf2onnx.convert import from_function

from cgru_cli.network.top_k import top_k

UNKNOWN = [tf.TensorSpec([None, None], tf.float32, "x"), tf.TensorSpec([], tf.int32, "count")]


def rows(size: int, seed: int) -> np.ndarray:
    """Rows of random numbers, of ties, of many excluded words and of few words."""
    x = np.random.default_rng(seed).normal(size=(7, size)).astype(np.float32)
    x[2] = -1  # all equal
    x[3] = np.round(x[3] * 2)  # many ties
    x[4, : size // 2] = -np.inf
    x[5] = -80 - np.abs(x[5])
    x[6, 1:] = -np.inf
    return x


@pytest.mark.parametrize(
    ("vocabulary", "count"),
    in_turns([5, 1000, 8192, 8256, 9001, 30000], [1, 5, 12, 100], others=LONG),
)
def test_best_is_top_k(vocabulary, count):
    x, count = rows(vocabulary, vocabulary + count), min(count, vocabulary)
    expected = tf.math.top_k(x, count)
    usual = functools.partial(top_k, usual_size=8256)
    functions = top_k, tf.function(top_k), *(tf.function(f, UNKNOWN) for f in (top_k, usual))
    for function in functions:
        values, words = function(tf.constant(x), tf.constant(count))
        np.testing.assert_array_equal(values, expected.values)
        np.testing.assert_array_equal(words, expected.indices)


@pytest.mark.long
@pytest.mark.parametrize("usual", [9, 300, 512])
def test_onnx_runtime_finds_the_same(usual):
    function = tf.function(functools.partial(top_k, usual_size=usual), UNKNOWN, autograph=False)
    model, _ = from_function(function, UNKNOWN, 18)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for size in (9, 128, 300, 512, 1000):
        x = rows(size, size)
        values, words = session.run(None, {"x": x, "count": np.array(7, np.int32)})
        expected = tf.math.top_k(x, 7)
        np.testing.assert_array_equal(values, expected.values)
        np.testing.assert_array_equal(words, expected.indices)
