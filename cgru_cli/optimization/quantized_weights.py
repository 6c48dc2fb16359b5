"""Round weights to a few levels in training (Aji and Heafield 2020, Marian's --quantize-bits).

After an update, every weight of a matrix is rounded to its nearest level. The next rounding first
adds back the rounding error, so that small steps add up until they reach another level.
"""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Quantization:
    """The levels of a matrix W with the scale S, which is max|W| unless it is fitted.

    With n = 2**(bits-1) - 1, the levels are i * S / n for i = -n...n; if log_based, they are 0 and
    +-S * 2**-i for i = 0...n.
    """

    bits: int
    log_based: bool = False
    scale_steps: int = 0  # number of least-squares fits of the scale to the matrix
    biases: bool = False  # whether vectors are rounded too

    def applies_to(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape is quantised: matrices always, vectors if `biases`."""
        return self.biases or len(shape) > 1

    def quantized(self, weights: tf.Tensor) -> tf.Tensor:
        """The weights rounded to the nearest levels, of the same shape."""

        def fitted(scale: tf.Tensor) -> tf.Tensor:
            """The least-squares scale, assuming that every weight keeps its level."""
            levels = tf.math.divide_no_nan(self._nearest(weights, scale), scale)
            return tf.math.divide_no_nan(
                tf.reduce_sum(levels * weights), tf.reduce_sum(levels * levels)
            )

        scale = tf.reduce_max(tf.abs(weights))
        if self.scale_steps:
            (scale,) = tf.while_loop(
                lambda _: True,
                lambda scale: (fitted(scale),),
                (scale,),
                maximum_iterations=self.scale_steps,
            )
        return self._nearest(weights, scale)

    def with_feedback(self, weights: tf.Variable, error: tf.Variable) -> None:
        """Round the sum of the weights and the last rounding error; set the new error."""
        whole = weights + error
        weights.assign(self.quantized(whole))
        error.assign(whole - weights)

    def _nearest(self, weights: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
        most = float(2 ** (self.bits - 1) - 1)
        sign = tf.sign(weights)
        size = tf.math.divide_no_nan(tf.minimum(tf.abs(weights), scale), scale)
        if self.log_based:
            # the boundary between two levels is 3/4 of the larger level
            power = tf.floor(tf.math.log(size * (4 / 3)) / tf.math.log(2.0))
            return sign * scale * tf.pow(2.0, tf.clip_by_value(power, -most, 0.0))
        return sign * tf.floor(size * most + 0.5) / most * scale
