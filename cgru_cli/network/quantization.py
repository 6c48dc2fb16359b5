"""Matrix products of 8-bit integers, by oneDNN.

Weights are quantised once, with a scale per column; inputs are quantised in each call. x W becomes
sum_n q(x_n) q(W_nm), exact in 32 bits, and is scaled to float32. TensorFlow has no Python function
for the operation, which only its graph optimiser uses. It multiplies unsigned by signed integers,
so this module adds 128 to x and subtracts 128 times the sum of each column of W from the product.
"""

import copy
import functools
from typing import Any, Self

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.attr_value_pb2 import AttrValue

from ..errors import CgruError
from .products import Product

OPERATION = "_QuantizedMatMul"
LARGEST = 127  # the largest integer
ZERO = 128  # the unsigned integer for 0


class QuantizedProduct(Product):
    """x W with x and W (N,M) as 8-bit integers and a float32 result; it has no gradient.

    If bounded, x lies in [-1,1], like states and tanh, in steps of 1/127. Otherwise each row is
    divided into 127 steps up to its largest absolute value.
    """

    def __init__(
        self,
        integers: tf.Tensor,
        scale: tf.Tensor,
        moved: tf.Tensor,
        *,
        bounded: bool,
        constant: bool = True,
    ):
        """integers: (N,M) int8, in steps of scale (M,); moved: (M,), the correction for ZERO.

        constant: whether the integers never change, so that the kernel may rearrange them once.
        """
        self.integers, self.scale, self.moved = integers, scale, moved
        self.bounded, self.constant = bounded, constant
        self.bias: tf.Tensor | None = None

    @classmethod
    def of(cls, matrix: tf.Tensor, *, bounded: bool) -> Self:
        """The product with a matrix (N,M) float32, of which only the integers are kept."""
        integers, scale = quantized_weights(matrix)
        sums = tf.reduce_sum(tf.cast(integers, tf.int32), axis=0)
        moved = tf.cast(sums, tf.float32) * scale * (-ZERO / LARGEST)
        return cls(integers, scale, moved, bounded=bounded)

    @property
    def dtype(self) -> tf.DType:
        """The inputs' dtype before quantisation."""
        return tf.float32

    @property
    def shape(self) -> tf.TensorShape:
        return self.integers.shape

    def columns(self, places: tf.Tensor) -> list[tf.Tensor]:
        """See `Product`: integers (N,M'), their scale and correction (M',)."""
        return [
            tf.gather(self.integers, places, axis=1),
            tf.gather(self.scale, places),
            tf.gather(self.moved, places),
        ]

    def with_columns(self, columns: list[tf.Tensor]) -> "QuantizedProduct":
        """See `Product`; the columns change from call to call."""
        return QuantizedProduct(*columns, bounded=self.bounded, constant=False)

    def plus(self, bias: tf.Tensor) -> Self:
        """x W + b, with b (M,)."""
        other = copy.copy(self)
        other.bias = bias
        return other

    def multiply_rows(self, x: tf.Tensor) -> tf.Tensor:
        """x: (R,N) float32 -> (R,M) float32."""
        if self.bounded:
            added = self.moved if self.bias is None else self.moved + self.bias
            return self._multiply(quantized(x), added)
        largest = tf.reduce_max(tf.abs(x), axis=-1, keepdims=True)
        y = self._multiply(quantized(tf.math.divide_no_nan(x, largest)), self.moved) * largest
        return y if self.bias is None else tf.nn.bias_add(y, self.bias)

    def _multiply(self, x: tf.Tensor, added: tf.Tensor) -> tf.Tensor:
        """x: (R,N) quint8 in steps of 1/127; added: (M,), for each row -> (R,M) float32."""
        largest = LARGEST * self.scale
        ranges = [tf.constant(0.0), tf.constant(255 / LARGEST), -largest, largest]
        inputs = [x, tf.bitcast(self.integers, tf.qint8), added, *ranges]
        attributes = _attributes() | {"is_weight_const": AttrValue(b=self.constant)}
        graph = tf.compat.v1.get_default_graph()
        return graph.create_op(
            OPERATION, inputs, [tf.float32], name="QuantizedMatMul", attrs=attributes
        ).outputs[0]


def quantized_weights(matrix: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """(N,M) float32 -> int8 (N,M) from -127 to 127, and the step (M,) of each column."""
    largest = tf.reduce_max(tf.abs(matrix), axis=0)
    scale = tf.where(largest > 0, largest, tf.ones_like(largest)) / LARGEST
    return tf.cast(tf.round(matrix / scale), tf.int8), scale


def quantized(x: tf.Tensor) -> tf.Tensor:
    """Numbers in [-1,1] as quint8, round(127 x) + 128, clipped."""
    rounding = {"mode": "MIN_COMBINED", "round_mode": "HALF_AWAY_FROM_ZERO"}
    quantize = tf.raw_ops.QuantizeV2
    return quantize(input=x, min_range=-ZERO / LARGEST, max_range=1.0, T=tf.quint8, **rounding)[0]


@functools.cache
def _attributes() -> dict[str, AttrValue]:
    """The attributes of the operation, except `is_weight_const`."""
    real, mode = tf.float32.as_datatype_enum, AttrValue(s=b"SCALED")
    unsigned, signed = tf.quint8.as_datatype_enum, tf.qint8.as_datatype_enum

    def types(*each: Any) -> AttrValue:
        return AttrValue(list=AttrValue.ListValue(type=each))

    return {
        "Tdevice_inputs": types(unsigned, signed, real),
        "Thost_inputs": types(*[real] * 4),
        "Tdevice_outputs": types(real),
        "T1": AttrValue(type=unsigned),
        "T2": AttrValue(type=signed),
        "Tbias": AttrValue(type=real),
        "U": AttrValue(type=real),
        "Tout": AttrValue(type=real),
        "is_bias_const": AttrValue(b=False),
        "fused_ops": AttrValue(list=AttrValue.ListValue(s=[b"BiasAdd", b"Dequantize"])),
        "input_quant_mode": mode,
        "output_quant_mode": mode,
    }


def check_available() -> None:
    """Raises CgruError if 8-bit products are unavailable or wrong.

    Processors without VNNI add pairs of products in 16 bits, which overflow for large numbers.
    """
    if tf.config.get_visible_devices("GPU"):
        raise CgruError("--precision int8 is for CPUs only; add --device cpu")
    instead = "--precision float32 works everywhere, bfloat16 if the processor supports it"
    try:
        exact = _is_exact()
    except (tf.errors.OpError, RuntimeError, ValueError, TypeError) as error:
        reason = str(error).strip().splitlines()[0].partition(". ")[0]
        raise CgruError(
            f"--precision int8: TensorFlow {tf.__version__} has no 8-bit matrix product here; "
            f"{instead} ({reason})"
        ) from None
    if not exact:
        raise CgruError(
            "--precision int8: this processor rounds sums of 8-bit products (it has no VNNI "
            f"instructions); {instead}"
        )


def _is_exact() -> bool:
    """Whether products of the largest numbers are exact, for few rows and for many."""
    signs = np.where(np.arange(64 * 96).reshape(64, 96) % 5 < 4, LARGEST, -LARGEST)
    product = QuantizedProduct.of(tf.constant(signs, tf.float32), bounded=True)
    multiply = tf.function(
        product.multiply_rows, input_signature=[tf.TensorSpec([None, 64])], autograph=False
    )
    return all(
        np.allclose(multiply(np.full((rows, 64), x, np.float32)), x * signs.sum(axis=0), atol=0.1)
        for rows in (1, 5, 64)
        for x in (1.0, -1.0)
    )
