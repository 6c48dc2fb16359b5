"""Words of a batch, each once: what depends on a word alone is computed for so many rows only."""

from __future__ import annotations

import tensorflow as tf


def distinct(words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Words (...) int32 -> each of them once (U,), and the place there of every one (...)."""
    once, places = tf.unique(tf.reshape(words, [-1]))
    return once, tf.reshape(places, tf.shape(words))


def at_their_places(rows: tf.Tensor, places: tf.Tensor | None) -> tf.Tensor:
    """What was computed of distinct words (U,...), where the words stand (...,...).

    Without places the rows stand there already.
    """
    return rows if places is None else tf.gather(rows, places)
