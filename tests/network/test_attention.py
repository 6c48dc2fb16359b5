"""Attention to the annotations, compared with its equations in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from array_functions import by_onnx, by_tensorflow

from cgru_cli.network import attention


@pytest.mark.parametrize(
    ("tile", "skipped"),  # a row, three rows, all of them at once; words of padding
    [(1, 16), (5 * 7 * 3, 10), (2**21, 0)],
)
def test_energies_of_a_search_are_those_of_each_row(tile, skipped, monkeypatch):
    monkeypatch.setattr(attention, "TILE", tile)
    generator = np.random.default_rng(1)
    projected = generator.normal(size=(4, 5, 7)).astype(np.float32)  # sentences, words, width
    sentence = np.array([0, 0, 1, 3, 3, 3, 3, 3], np.int32)
    query = generator.normal(size=(8, 7)).astype(np.float32)
    v = generator.normal(size=(7, 1)).astype(np.float32)
    mask = (np.arange(5) < np.array([[2], [5], [1], [3]])).astype(np.float32)
    arrays = [projected, query, v, sentence, mask]
    shapes = [[None, None, 7], [None, 7], [7, 1], [None], [None, None]]
    expected = [np.tanh(projected[n] + q) @ v[:, 0] for n, q in zip(sentence, query, strict=True)]
    real = mask[sentence] > 0
    for run in (by_tensorflow, by_onnx):
        (energies,) = run(attention.energies_in_tiles, arrays, shapes)
        np.testing.assert_allclose(energies[real], np.array(expected)[real], rtol=1e-5, atol=1e-5)
        assert np.isneginf(energies).sum() == skipped


def test_a_hidden_layer_may_have_more_numbers_than_an_int32():
    rows, words, width = 1100, 2000, 1024
    projected, query = np.zeros((1, words, width), np.float32), np.zeros((rows, width), np.float32)
    mask = np.eye(1, words, dtype=np.float32)  # a word, and padding
    v, sentence = np.ones((width, 1), np.float32), np.zeros(rows, np.int32)
    arrays = [projected, query, v, sentence, mask]
    (energies,) = by_onnx(attention.energies_in_tiles, arrays, [x.shape for x in arrays])
    assert energies.shape == (rows, words) and not energies[:, 0].any()
    assert np.isneginf(energies[:, 1:]).all()


def test_weights_are_zero_at_padding():
    energy, mask = np.array([[1.0, 2.0, 9.0], [0.0, 0.0, 0.0]]), np.array([[1, 1, 0], [1, 1, 1]])
    weights = attention.masked_softmax(tf.constant(energy), tf.constant(mask, tf.float64)).numpy()
    first = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum()
    np.testing.assert_allclose(weights, [[*first, 0], [1 / 3] * 3], rtol=1e-12)
