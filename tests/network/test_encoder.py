"""Distinct words, and their places in a batch."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cgru_cli.network.encoder import at_their_places, distinct

WORDS = arrays(
    np.int32, st.tuples(st.integers(0, 4), st.integers(1, 5)), elements=st.integers(-1, 5)
)


@given(words=WORDS)
@settings(max_examples=50, deadline=None)
def test_what_is_computed_of_distinct_words_comes_to_every_place(words):
    once, places = distinct(tf.constant(words))
    assert sorted(once.numpy().tolist()) == np.unique(words).tolist()
    table = np.arange(14, dtype=np.float32).reshape(7, 2)
    rows = tf.gather(table, once + 1)
    np.testing.assert_array_equal(at_their_places(rows, places), table[words + 1])
    assert at_their_places(rows, None) is rows


def test_the_gradient_of_a_word_is_that_of_all_its_places():
    words, table = tf.constant([[2, 0, 2], [2, 1, 0]]), tf.random.normal([4, 3])
    factors = tf.random.normal([2, 3, 3])

    def gradient(rows_of):
        with tf.GradientTape() as tape:
            tape.watch(table)
            total = tf.reduce_sum(rows_of(table) * factors)
        return tf.convert_to_tensor(tape.gradient(total, table))

    def by_distinct(table):
        once, places = distinct(words)
        return at_their_places(tf.gather(table, once), places)

    expected = gradient(lambda table: tf.gather(table, words))
    np.testing.assert_allclose(gradient(by_distinct), expected, atol=1e-6)
