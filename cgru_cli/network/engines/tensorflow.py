"""The operations of `ops` in TensorFlow, for training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from .scan import scan as scan

tanh, sigmoid, relu = tf.tanh, tf.sigmoid, tf.nn.relu
exp, log, sqrt, rsqrt, abs = tf.exp, tf.math.log, tf.sqrt, tf.math.rsqrt, tf.abs
maximum, minimum = tf.maximum, tf.minimum
where, add_n, bias_add = tf.where, tf.add_n, tf.nn.bias_add
sum, mean, max = tf.reduce_sum, tf.reduce_mean, tf.reduce_max
logsumexp, log_softmax = tf.reduce_logsumexp, tf.nn.log_softmax
matmul, cast, convert = tf.matmul, tf.cast, tf.convert_to_tensor
transpose, expand_dims, squeeze, stack = tf.transpose, tf.expand_dims, tf.squeeze, tf.stack
concat, split, reshape = tf.concat, tf.split, tf.reshape
arange, take_at, scatter = tf.range, tf.gather_nd, tf.scatter_nd
scatter_update, top_k, unique = tf.tensor_scatter_nd_update, tf.math.top_k, tf.unique
cond, stop_gradient, identity = tf.cond, tf.stop_gradient, tf.identity


def shape(x: tf.Tensor) -> tuple:
    sizes = tuple(x.shape)
    if None not in sizes:
        return sizes
    at_run_time = tf.shape(x)
    return tuple(at_run_time[i] if size is None else size for i, size in enumerate(sizes))


def floats_of_bits(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x if x.dtype.is_floating else tf.bitcast(x, tf.float32), tf.float32)


def pad(x: tf.Tensor, widths: Sequence[Sequence], value: float) -> tf.Tensor:
    return tf.pad(x, widths, constant_values=value)


def flip(x: tf.Tensor, axis: int) -> tf.Tensor:
    return tf.reverse(x, [axis])


def full(sizes: Sequence, value: float, dtype: str) -> tf.Tensor:
    return tf.fill(sizes, tf.cast(value, dtype))


def full_like(x: tf.Tensor, value: float, dtype: str | None) -> tf.Tensor:
    return (tf.ones_like if value else tf.zeros_like)(x, dtype)


def one_hot(x: tf.Tensor, size: int) -> tf.Tensor:
    return tf.one_hot(x, size)


def cumsum(x: tf.Tensor, axis: int, reverse: bool) -> tf.Tensor:
    return tf.cumsum(x, axis, reverse=reverse)


def vecmat(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.linalg.matvec(y, x, transpose_a=True)


def take(x: tf.Tensor, places: tf.Tensor, axis: int) -> tf.Tensor:
    return tf.gather(x, places, axis=axis)


def take_each(x: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    return tf.gather(x, places, batch_dims=1)


def sort(x: tf.Tensor) -> tf.Tensor:
    return tf.sort(x, axis=-1)


def argsort_descending(x: tf.Tensor) -> tf.Tensor:
    return tf.argsort(x, axis=-1, direction="DESCENDING", stable=True)


def stack_of(function: Callable[[tf.Tensor], tf.Tensor], number: Any) -> tf.Tensor:
    return tf.map_fn(function, tf.range(number), fn_output_signature=tf.float32)


def at_once(function: Callable[..., tf.Tensor], *given: tf.Tensor) -> tf.Tensor:
    """See `ops.at_once`.

    Otherwise TensorFlow computes the gradient of a bias last, because no other operation needs it,
    and until then keeps the gradient of the logits, the largest tensor of an update.
    """

    @tf.custom_gradient
    def run(*given: tf.Tensor) -> tuple:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(given)
            result = function(*given)

        def gradient(d_result: tf.Tensor) -> list[tf.Tensor]:
            gradients = tape.gradient(result, given, output_gradients=d_result)
            with tf.control_dependencies(gradients):
                return [tf.identity(part) for part in gradients]

        return result, gradient

    return run(*map(tf.convert_to_tensor, given))
