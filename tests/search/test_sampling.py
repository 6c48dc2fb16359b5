"""The words that may be drawn, with their weights."""

import numpy as np
import pytest
from prescribed_words import PrescribedWords, search_prescribed

from cgru_cli.search.sampling import weights
from cgru_cli.search.settings import Sampling, SearchSettings

LOGS = np.log([[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5], [0.25, 0.25, 0.25, 0.25]])


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"nucleus": 0.6}, ["1100", "0011", "1110"]),
        ({"nucleus": 0.4}, ["1000", "0001", "1100"]),
        ({"nucleus": 1e-9}, ["1000", "0001", "1000"]),
        ({"epsilon": 0.2}, ["1100", "0011", "1111"]),
        ({"epsilon": 0.9}, ["1000", "0001", "1111"]),  # nothing above epsilon: the most probable
        ({"nucleus": 1.0, "epsilon": 0.0, "top": 4}, ["1111"] * 3),
        ({"top": 9}, ["1111"] * 3),
    ],
)
def test_words_that_may_be_drawn(asked, kept):
    found = weights(LOGS.astype(np.float32) - 3, Sampling(**asked))  # unnormalised
    assert ["".join(str(int(w > 0)) for w in row) for row in found] == kept
    ratio = np.exp(LOGS - LOGS.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, np.where(found > 0, ratio, 0), rtol=1e-5)
    hot = weights(LOGS, Sampling(**asked, temperature=2.0))  # the same words at any temperature
    np.testing.assert_allclose(hot, np.sqrt(np.where(found > 0, ratio, 0)), rtol=1e-5)


@pytest.mark.parametrize(("top", "words"), [(1, {3}), (2, {1, 3}), (3, {0, 1, 3})])
def test_a_suppressed_word_takes_no_place_of_the_most_probable(top, words):
    model = PrescribedWords({-1: [0.15, 0.2, 0.3, 0.25, 0.1]})
    settings = SearchSettings(100, unk=2, sampling=Sampling(top=top, seed=1))
    found = search_prescribed(model, settings, limit=1)
    assert {int(one.words[0]) for one in found} == words
