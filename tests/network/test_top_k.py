"""The best words of each row, found in blocks."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from array_functions import by_onnx, by_tensorflow
from selection import LONG, in_turns

from cgru_cli.network.top_k import top_k


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
    in_turns([5, 512, 1000, 8192, 8256, 9001, 30000], [1, 5, 12, 100], others=LONG),
)
def test_best_is_the_whole_rows(vocabulary, count):
    """If a graph knows their number, if it knows the usual number, and if it knows none."""
    x, count = rows(vocabulary, vocabulary + count), min(count, vocabulary)
    places = np.argsort(-x, axis=1, kind="stable")[:, :count]
    usual = functools.partial(top_k, usual_size=8256)
    arrays = [x, np.array(count, np.int32)]
    for function, shapes in ((top_k, [[None, vocabulary], []]), (usual, None), (top_k, None)):
        for values, found in (
            by_onnx(function, arrays, shapes),
            by_tensorflow(function, arrays, shapes),
            function(*map(tf.constant, arrays)),
        ):
            np.testing.assert_array_equal(found, places)
            np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))
