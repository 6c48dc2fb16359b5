"""Tensors of ONNX graphs, with their operators, and the operations that these need.

An operation adds a node to the graph under construction, unless all its arguments are constants:
then NumPy computes it at once, such as the joined or transposed matrices of a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from typing import cast as typed

import numpy as np

from .onnx_graph import Value, add, current
from .onnx_messages import DATA_TYPES

ALL = 2**62  # larger than any axis


class Tensor(Value):
    """A value with operators, which add nodes to the current graph."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __add__(self, other: Any) -> Tensor:
        return binary("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return binary("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return binary("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return binary("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return binary("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return binary("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return binary("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return binary("Div", other, self)

    def __floordiv__(self, other: Any) -> Tensor:  # of integers that are not negative
        return binary("Div", self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return binary("Div", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return binary("Mod", self, other)

    def __neg__(self) -> Tensor:
        return unary("Neg", self)

    def __lt__(self, other: Any) -> Tensor:
        return binary("Less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return binary("LessOrEqual", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return binary("Greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return binary("GreaterOrEqual", self, other)

    def __eq__(self, other: object) -> Any:
        return binary("Equal", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a tensor of a graph has no truth value; see cond")

    def __getitem__(self, key: Any) -> Tensor:
        return _indexed(self, key if isinstance(key, tuple) else (key,))


def new_input(name: str, dtype: str, shape: Sequence[int | None]) -> Tensor:
    """A new input of the current graph."""
    made = Tensor(dtype, shape, name)
    current().inputs.append(made)
    return made


def parameter(name: str, array: np.ndarray) -> Tensor:
    """A named array, which the graph and not NumPy makes ready for use."""
    here = current()
    here.constants[name] = array
    here.outermost.fixed[name] = here
    return Tensor(array.dtype.name, array.shape, name)


def node(
    op: str, inputs: Sequence[Tensor | None], dtype: str, shape: Sequence, **attributes: Any
) -> Tensor:
    """The only result of an operation."""
    (name,) = add(op, inputs, 1, **attributes)
    return Tensor(dtype, shape, name)


# Types and shapes


def convert(x: Any, dtype: str | None = None) -> Tensor:
    if isinstance(x, Tensor):
        return x if dtype is None else cast(x, dtype)
    array = np.asarray(x, dtype)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return Tensor(array.dtype.name, array.shape, "", np.asarray(array, order="C"))


def integers(values: Any) -> Tensor:
    """Sizes or places as int64: a number, a sequence of numbers and scalar tensors, or a tensor."""
    if isinstance(values, list | tuple) and any(isinstance(one, Tensor) for one in values):
        return concat([reshape(integers(one), [1]) for one in values], 0)
    return convert(values, "int64")


def known_sizes(sizes: Sequence) -> list[int | None]:
    return [
        int(one) if not isinstance(one, Tensor) else None if one.array is None else int(one.array)
        for one in sizes
    ]


def cast(x: Tensor, dtype: str) -> Tensor:
    x = convert(x)
    if x.dtype == dtype:
        return x
    if x.array is not None:
        return convert(x.array.astype(dtype))
    return node("Cast", [x], dtype, x.shape, to=DATA_TYPES[dtype])


def shape(x: Tensor) -> tuple:
    if None not in x.shape:
        return x.shape
    sizes = node("Shape", [x], "int64", [len(x.shape)])
    return tuple(sizes[i] if size is None else size for i, size in enumerate(x.shape))


def reshape(x: Tensor, sizes: Sequence) -> Tensor:
    x, known = convert(x), known_sizes(sizes)
    if x.array is not None and None not in known:
        return convert(x.array.reshape(known))
    if known.count(None) == 1 and -1 not in known:
        sizes = known = [-1 if size is None else size for size in known]
    result: list[int | None] = [None if size == -1 else size for size in known]
    if result.count(None) == 1 and None not in x.shape:
        rest = math.prod(size for size in result if size is not None)
        whole = math.prod(typed(tuple[int, ...], x.shape))
        result = [whole // rest if size is None else size for size in result]
    return node("Reshape", [x, integers(sizes)], x.dtype, result)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape) + 1
    if x.array is not None:
        return convert(np.expand_dims(x.array, axis))
    sizes = [*x.shape[:axis], 1, *x.shape[axis:]]
    return node("Unsqueeze", [x, integers([axis])], x.dtype, sizes)


def concat(xs: Sequence[Tensor], axis: int) -> Tensor:
    xs = [convert(x) for x in xs]
    if len(xs) == 1:
        return xs[0]
    axis %= len(xs[0].shape)
    if all(x.array is not None for x in xs):
        return convert(np.concatenate([x.array for x in xs], axis))
    # a size that one of them knows, all of them have
    sizes = [next((n for n in each if n is not None), None) for each in _columns(xs)]
    along = [x.shape[axis] for x in xs]
    sizes[axis] = None if None in along else sum_of(along)
    return node("Concat", xs, xs[0].dtype, sizes, axis=axis)


def _columns(xs: Sequence[Tensor]) -> Iterator[tuple[int | None, ...]]:
    return zip(*(x.shape for x in xs), strict=True)


def sum_of(sizes: Sequence[Any]) -> int:
    return int(np.sum(sizes))


# Element by element


_NUMPY: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda x, y: x / y if x.dtype.kind == "f" else x // y,
    "Mod": np.mod,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Equal": np.equal,
    "Max": np.maximum,
    "Min": np.minimum,
    "Neg": np.negative,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0),
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Abs": np.abs,
}


_COMPARISONS = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}


def broadcast(*shapes: Sequence[int | None]) -> list[int | None]:
    """The common shape of operands; an unknown size takes a known size of the same axis."""
    rank = int(np.max([len(one) for one in shapes]))
    result: list[int | None] = []
    for sizes in zip(*((1,) * (rank - len(one)) + tuple(one) for one in shapes), strict=True):
        others = [size for size in sizes if size != 1]
        result.append(next((n for n in others if n is not None), None) if others else 1)
    return result


def alike(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands in one type; a Python number takes the other's."""
    if not isinstance(x, Tensor):
        x = convert(x, y.dtype if isinstance(y, Tensor) else None)
    if not isinstance(y, Tensor):
        y = convert(y, x.dtype)
    if x.dtype != y.dtype and {x.dtype, y.dtype} == {"int32", "int64"}:
        x, y = cast(x, "int64"), cast(y, "int64")
    assert x.dtype == y.dtype, (x.dtype, y.dtype)  # noqa: S101 - a fault of the equations
    return x, y


def binary(op: str, x: Any, y: Any) -> Tensor:
    x, y = alike(x, y)
    dtype = "bool" if op in _COMPARISONS else x.dtype
    if x.array is not None and y.array is not None:
        return convert(np.asarray(_NUMPY[op](x.array, y.array), dtype))
    return node(op, [x, y], dtype, broadcast(x.shape, y.shape))


def unary(op: str, x: Tensor) -> Tensor:
    x = convert(x)
    if x.array is not None:
        return convert(np.asarray(_NUMPY[op](x.array), x.dtype))
    return node(op, [x], x.dtype, x.shape)


# Places


def take(x: Tensor, places: Any, axis: int) -> Tensor:
    x, places = convert(x), convert(places)
    axis %= len(x.shape)
    if x.array is not None and places.array is not None:
        return convert(x.array.take(places.array, axis))
    sizes = [*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]]
    return node("Gather", [x, places], x.dtype, sizes, axis=axis)


def _indexed(x: Tensor, key: tuple) -> Tensor:
    """x[key], where the key has integers, slices, one `...`, and None for new axes."""
    if any(part is Ellipsis for part in key):
        at = next(i for i, part in enumerate(key) if part is Ellipsis)
        given = [part for part in key if part is not None and part is not Ellipsis]
        every = (slice(None),) * (len(x.shape) - len(given))
        key = (*key[:at], *every, *key[at + 1 :])
    if x.array is not None and not any(isinstance(one, Tensor) for one in _parts(key)):
        return convert(x.array[key])
    x = _sliced(x, [part for part in key if part is not None])
    axis = 0
    for part in key:
        if part is None:
            x = expand_dims(x, axis)
        elif not isinstance(part, slice):
            x = take(x, convert(part, "int64"), axis)
            continue
        axis += 1
    return x


def _parts(key: tuple) -> Iterator[Any]:
    for part in key:
        yield from (part.start, part.stop) if isinstance(part, slice) else (part,)


def _sliced(x: Tensor, key: Sequence[Any]) -> Tensor:
    """The slices of x that the slices of a key ask for, axis by axis."""
    starts: list[Any] = []
    ends: list[Any] = []
    axes: list[int] = []
    sizes = list(x.shape)
    for axis, part in enumerate(key):
        if isinstance(part, slice) and not (part.start is None and part.stop is None):
            start = 0 if part.start is None else part.start
            end = ALL if part.stop is None else part.stop
            starts, ends, axes = [*starts, start], [*ends, end], [*axes, axis]
            known, size = known_sizes([start, end]), sizes[axis]
            if size is not None:
                sizes[axis] = None if None in known else len(range(size)[slice(*known)])
    if not axes:
        return x
    ends_of = (integers(each) for each in (starts, ends, axes))
    return node("Slice", [x, *ends_of], x.dtype, sizes)
