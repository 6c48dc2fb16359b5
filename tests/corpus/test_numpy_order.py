"""The order of equal lengths, compared with NumPy wherever it still sorts without vectors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.corpus.numpy_order import argsort


@given(st.integers(0, 400), st.integers(1, 60), st.integers(0, 2**32))
def test_order_is_that_of_numpys_quicksort(count, different, seed):
    """16-bit keys, whose indices NumPy does not sort by vector instructions."""
    values = np.random.default_rng(seed).integers(different, size=count).tolist()
    assert argsort(values) == np.argsort(np.array(values, np.int16)).tolist()


@given(st.lists(st.integers(0, 10**6), max_size=500))
def test_it_sorts(values):
    order = argsort(values)
    assert sorted(order) == list(range(len(values)))
    assert [values[i] for i in order] == sorted(values)


def test_short_lists_keep_the_order_of_equals():
    assert argsort([2, 1, 2, 1, 2]) == [1, 3, 0, 2, 4]
    assert argsort([]) == []
    assert argsort([7] * 16) == list(range(16))


def test_long_lists_do_not():
    """`sorted` gives another order: the reason for this module."""
    values = [3, 1, 2] * 20
    assert argsort(values) != sorted(range(len(values)), key=values.__getitem__)
