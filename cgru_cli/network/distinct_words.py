"""The distinct words of a batch, to compute functions of a word only once per word."""

import tensorflow as tf


def distinct(words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Words (...) int32 -> the distinct words (U,), and the index of each word in them (...)."""
    once, places = tf.unique(tf.reshape(words, [-1]))
    return once, tf.reshape(places, tf.shape(words))


def at_their_places(rows: tf.Tensor, places: tf.Tensor | None) -> tf.Tensor:
    """Rows of distinct words (U,...) gathered at indices (...); all rows if places is None."""
    return rows if places is None else tf.gather(rows, places)
