"""Scores of known translations by TensorFlow, which training reports, compared with the oracle."""

import numpy as np
import pytest
import tensorflow as tf
from both_engines import DOUBLE, Texts
from cases import random_arrays
from models import double_precision, ladder_oracle
from named_structures import NAMED

from cgru_cli.network.network import Network
from cgru_cli.optimization.words import score


@pytest.mark.parametrize("name", ["lexical", "labels", "tagger with a CRF"])
def test_scores_are_the_oracles(name):
    s = NAMED[name]
    arrays, texts = random_arrays(s), Texts.of(s)
    source, mask, target, target_mask = texts.batch(s)
    with double_precision():
        doubled = {name: array.astype(np.float64) for name, array in arrays.items()}
        mask, target_mask = (tf.constant(x, tf.float64) for x in (mask, target_mask))
        network = Network(s, doubled, "float64", packed=True)
        given = tf.constant(source), mask, tf.constant(target), target_mask
        found = score(network, *given).numpy()
    assert found.dtype == np.float64
    exact = ladder_oracle(s, arrays)
    for row, pair in zip(found, zip(*texts, strict=True), strict=True):
        expected = exact.force_decode(*pair).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, DOUBLE, DOUBLE)
        assert not row[len(expected) :].any()  # padding has no score
