"""The array operations that the equations are written with.

Two engines execute them: TensorFlow in training (`engines/tensorflow.py`), and ONNX everywhere else
(`engines/onnx.py`), where an operation adds a node to a graph that ONNX Runtime then runs. Both
have a function for each one here. TensorFlow is the default; `using` selects another engine for a
block of code.

Names and arguments are those of `keras.ops` and NumPy. An array is whatever the engine computes
with: it has a `shape`, a `dtype`, the usual operators, and indexing by integers, slices, `...` and
None. Data types are given by name, such as "float32". The letters of shapes are those of the code
that calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Protocol, TypeAlias

Tensor: TypeAlias = Any  # an array of the engine
Size: TypeAlias = Any  # an int, or a scalar tensor if it is known only when the graph runs

_ENGINE: ContextVar[ModuleType | None] = ContextVar("engine", default=None)


@contextlib.contextmanager
def using(engine: ModuleType) -> Iterator[None]:
    """Execute the operations of this block, in this thread, with an engine."""
    token = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(token)


def _engine() -> Any:
    engine = _ENGINE.get()
    if engine is None:
        from .engines import tensorflow as engine
    return engine


# Types and shapes


def is_tensor(x: Any) -> bool:
    """Whether x is an array; the parts that a model lacks are () or None."""
    return x is not None and not isinstance(x, tuple)


def convert(x: Any, dtype: str | None = None) -> Tensor:
    """An array, a variable or numbers as an array of the engine."""
    return _engine().convert(x, dtype)


def cast(x: Tensor, dtype: str) -> Tensor:
    """The same numbers in another type."""
    return _engine().cast(x, dtype)


def floats_of_bits(x: Tensor) -> Tensor:
    """float32 numbers, from numbers or from their bits as int32."""
    return _engine().floats_of_bits(x)


def shape(x: Tensor) -> tuple[Size, ...]:
    """The sizes of all axes."""
    return _engine().shape(x)


def reshape(x: Tensor, sizes: Sequence[Size]) -> Tensor:
    """The numbers in another shape; one size may be -1."""
    return _engine().reshape(x, sizes)


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, reversed by default."""
    return _engine().transpose(x, axes)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """A new axis of size 1."""
    return _engine().expand_dims(x, axis)


def squeeze(x: Tensor, axis: int) -> Tensor:
    """Without an axis of size 1."""
    return _engine().squeeze(x, axis)


def concat(xs: Sequence[Tensor], axis: int) -> Tensor:
    """Join along an axis."""
    return _engine().concat(xs, axis)


def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Join along a new axis."""
    return _engine().stack(xs, axis)


def split(x: Tensor, parts: int | Sequence[int], axis: int) -> list[Tensor]:
    """The reverse of `concat`: into a number of equal parts, or parts of these sizes."""
    return _engine().split(x, parts, axis)


def pad(x: Tensor, widths: Sequence[Sequence[Size]], value: float = 0.0) -> Tensor:
    """Add a constant before and after each axis."""
    return _engine().pad(x, widths, value)


def flip(x: Tensor, axis: int) -> Tensor:
    """In reverse order along an axis."""
    return _engine().flip(x, axis)


# New arrays


def zeros(sizes: Sequence[Size], dtype: str = "float32") -> Tensor:
    """An array of zeros."""
    return _engine().full(sizes, 0, dtype)


def ones(sizes: Sequence[Size], dtype: str = "float32") -> Tensor:
    """An array of ones."""
    return _engine().full(sizes, 1, dtype)


def full(sizes: Sequence[Size], value: float, dtype: str = "float32") -> Tensor:
    """An array of one value."""
    return _engine().full(sizes, value, dtype)


def zeros_like(x: Tensor, dtype: str | None = None) -> Tensor:
    """Zeros in the shape of x."""
    return _engine().full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: str | None = None) -> Tensor:
    """Ones in the shape of x."""
    return _engine().full_like(x, 1, dtype)


def arange(start: Size, stop: Size | None = None) -> Tensor:
    """The integers from start (0 if only one number is given) to stop - 1."""
    return _engine().arange(0, start) if stop is None else _engine().arange(start, stop)


def one_hot(x: Tensor, size: int) -> Tensor:
    """Integers (..) -> float32 (..,size): 1 at the integer, 0 elsewhere."""
    return _engine().one_hot(x, size)


# Element by element


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return _engine().tanh(x)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return _engine().sigmoid(x)


def relu(x: Tensor) -> Tensor:
    """max(x, 0)."""
    return _engine().relu(x)


def exp(x: Tensor) -> Tensor:
    """e to the power of x."""
    return _engine().exp(x)


def log(x: Tensor) -> Tensor:
    """Natural logarithm."""
    return _engine().log(x)


def sqrt(x: Tensor) -> Tensor:
    """Square root."""
    return _engine().sqrt(x)


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    return _engine().rsqrt(x)


def abs(x: Tensor) -> Tensor:
    """Absolute value."""
    return _engine().abs(x)


def maximum(x: Tensor, y: Tensor) -> Tensor:
    """The larger of two numbers."""
    return _engine().maximum(x, y)


def minimum(x: Tensor, y: Tensor) -> Tensor:
    """The smaller of two numbers."""
    return _engine().minimum(x, y)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, y elsewhere."""
    return _engine().where(condition, x, y)


def add_n(xs: Sequence[Tensor]) -> Tensor:
    """The sum of arrays of one shape."""
    return _engine().add_n(xs)


def bias_add(x: Tensor, bias: Tensor) -> Tensor:
    """x (...,N) plus a bias (N,)."""
    return _engine().bias_add(x, bias)


# Along an axis


def sum(x: Tensor, axis: int, *, keepdims: bool = False) -> Tensor:
    """The sum along an axis."""
    return _engine().sum(x, axis, keepdims)


def mean(x: Tensor, axis: int, *, keepdims: bool = False) -> Tensor:
    """The mean along an axis."""
    return _engine().mean(x, axis, keepdims)


def max(x: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The maximum along an axis, or of all numbers."""
    return _engine().max(x, axis, keepdims)


def logsumexp(x: Tensor, axis: int, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along an axis."""
    return _engine().logsumexp(x, axis, keepdims)


def log_softmax(x: Tensor) -> Tensor:
    """The logarithm of the softmax over the last axis."""
    return _engine().log_softmax(x)


def cumsum(x: Tensor, axis: int, *, reverse: bool = False) -> Tensor:
    """Cumulative sums along an axis, from its end with `reverse`."""
    return _engine().cumsum(x, axis, reverse)


# Products


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Matrix product (...,N,K) (...,K,M) -> (...,N,M)."""
    return _engine().matmul(x, y)


def vecmat(x: Tensor, y: Tensor) -> Tensor:
    """Product of a row and a matrix: (B,K) (B,K,M) -> (B,M)."""
    return _engine().vecmat(x, y)


def integer_product(x: Tensor, integers: Tensor, scale: Tensor) -> Tensor:
    """(q(x) - 128) / 127 times integers (N,M) int8, times scale (M,): (R,N) -> (R,M) float32.

    q(x) = round(127 x) + 128 is a byte, so x lies in [-1,1]. Sums are exact in 32 bits. Only the
    engine of ONNX has it.
    """
    return _engine().integer_product(x, integers, scale)


# Places


def take(x: Tensor, places: Tensor, axis: int = 0) -> Tensor:
    """The slices of an axis at places (..), which replace the axis."""
    return _engine().take(x, places, axis)


def take_each(x: Tensor, places: Tensor) -> Tensor:
    """For each row of x (B,N,..), its own places (B,..): x[b, places[b]]."""
    return _engine().take_each(x, places)


def take_at(x: Tensor, places: Tensor) -> Tensor:
    """The parts of x at places (R,K), each K indices into the first axes."""
    return _engine().take_at(x, places)


def scatter(places: Tensor, values: Tensor, sizes: Sequence[Size]) -> Tensor:
    """Zeros of this shape with values (R,..) at places (R,K)."""
    return _engine().scatter(places, values, sizes)


def scatter_update(x: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """x with values (R,..) at places (R,K)."""
    return _engine().scatter_update(x, places, values)


def top_k(x: Tensor, k: Size) -> tuple[Tensor, Tensor]:
    """The k largest numbers of each row, the largest first, and their places; ties in order."""
    return _engine().top_k(x, k)


def sort(x: Tensor) -> Tensor:
    """The last axis in ascending order."""
    return _engine().sort(x)


def argsort_descending(x: Tensor) -> Tensor:
    """The places that sort the last axis in descending order; equal numbers stay in order."""
    return _engine().argsort_descending(x)


def unique(x: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct numbers of x (N,), and the place of each number among them (N,)."""
    return _engine().unique(x)


# Control flow


class ScanCell(Protocol):
    """One step of a recurrence, with the `Product`s, tensors and constants that it uses.

    A step computes each product once. Tensors have gradients unless they are `Fixed`. Those of rank
    1 apply to every row, and may be replaced by one copy per row.
    """

    def step(self, carry: Any, x: Any, fixed: Any, /) -> tuple[Any, Any]:
        """One step: (carry, x_t, fixed_t) -> (outputs, new carry)."""


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """The result of one of two functions, which return nests of the same types."""
    return _engine().cond(condition, yes, no)


def stack_of(function: Callable[[Tensor], Tensor], number: Size) -> Tensor:
    """The results of function(0), function(1), ..., stacked along a new first axis."""
    return _engine().stack_of(function, number)


def scan(
    cell: ScanCell, carry: Any, inputs: Any, fixed: Any = (), *, differentiable: bool = True
) -> tuple[Any, Any]:
    """Run a cell over time: outputs of all steps, each (T,...), and the last carry.

    carry, inputs, outputs: nests of float32 arrays, inputs (T,...); fixed: the
    same, without a gradient. Without differentiable, the result has no gradient.
    """
    return _engine().scan(cell, carry, inputs, fixed, differentiable=differentiable)


# Gradients, which only training has


def stop_gradient(x: Tensor) -> Tensor:
    """x as a constant for gradients."""
    return _engine().stop_gradient(x)


def identity(x: Tensor) -> Tensor:
    """x as a result of its own, with its own gradient."""
    return _engine().identity(x)


def at_once(function: Callable[..., Tensor], *given: Tensor) -> Tensor:
    """The function's result, with all its gradients computed together."""
    return _engine().at_once(function, *given)
