"""The operations of `ops` as nodes of an ONNX graph.

`onnx_tensor` has the operations behind the operators of tensors, `onnx_graph` the graph under
construction, and `onnx_messages` the form of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from typing import cast as typed

import numpy as np

from .. import nest
from .onnx_graph import Graph as Graph
from .onnx_graph import add, body_of, current, within
from .onnx_graph import graph as graph
from .onnx_graph import model_of as model_of
from .onnx_tensor import ALL, alike, binary, broadcast, integers, known_sizes, node, unary
from .onnx_tensor import Tensor as Tensor
from .onnx_tensor import cast as cast
from .onnx_tensor import concat as concat
from .onnx_tensor import convert as convert
from .onnx_tensor import expand_dims as expand_dims
from .onnx_tensor import new_input as new_input
from .onnx_tensor import parameter as parameter
from .onnx_tensor import reshape as reshape
from .onnx_tensor import shape as shape
from .onnx_tensor import take as take

_LOWEST = float(np.finfo(np.float32).min)


# Types and shapes


def floats_of_bits(x: Tensor) -> Tensor:
    assert x.dtype == "float32"  # noqa: S101 - graphs get numbers as such
    return x


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    x = convert(x)
    order = list(range(len(x.shape)))[::-1] if axes is None else list(axes)
    if x.array is not None:
        return convert(x.array.transpose(order))
    return node("Transpose", [x], x.dtype, [x.shape[axis] for axis in order], perm=order)


def squeeze(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    if x.array is not None:
        return convert(x.array.squeeze(axis))
    sizes = [*x.shape[:axis], *x.shape[axis + 1 :]]
    return node("Squeeze", [x, integers([axis])], x.dtype, sizes)


def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    return concat([expand_dims(convert(x), axis) for x in xs], axis)


def split(x: Tensor, parts: int | Sequence[int], axis: int) -> list[Tensor]:
    axis %= len(x.shape)
    if isinstance(parts, int):
        parts = [typed(int, x.shape[axis]) // parts] * parts
    if len(parts) == 1:
        return [x]
    if x.array is not None:
        return [convert(one) for one in np.split(x.array, np.cumsum(parts)[:-1], axis)]
    names = add("Split", [x, integers(list(parts))], len(parts), axis=axis)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [
        Tensor(x.dtype, [*before, size, *after], name)
        for name, size in zip(names, parts, strict=True)
    ]


def pad(x: Tensor, widths: Sequence[Sequence], value: float) -> Tensor:
    edges = [pair[side] for side in (0, 1) for pair in widths]
    known = known_sizes(edges)
    sizes = [
        None if None in (size, before, after) else size + before + after  # type: ignore[operator]
        for size, before, after in zip(
            x.shape, known[: len(x.shape)], known[len(x.shape) :], strict=True
        )
    ]
    return node("Pad", [x, integers(edges), convert(value, x.dtype)], x.dtype, sizes)


def flip(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    if x.array is not None:
        return convert(np.flip(x.array, axis))
    ends = (integers([each]) for each in (-1, -ALL, axis, -1))
    return node("Slice", [x, *ends], x.dtype, x.shape)


# New arrays


def full(sizes: Sequence, value: float, dtype: str) -> Tensor:
    known = known_sizes(sizes)
    if None not in known:
        return convert(np.full(typed(list[int], known), value, dtype))
    return node("Expand", [convert(value, dtype), integers(sizes)], dtype, known)


def full_like(x: Tensor, value: float, dtype: str | None) -> Tensor:
    return full(shape(x), value, dtype or x.dtype)


def arange(start: Any, stop: Any) -> Tensor:
    first, last = known_sizes([start, stop])
    if first is not None and last is not None:
        return convert(np.arange(first, last))
    ends = [integers(one) for one in (start, stop, 1)]
    return node("Range", ends, "int64", [None])


def one_hot(x: Tensor, size: int) -> Tensor:
    if x.array is not None:
        return convert((x.array[..., None] == np.arange(size)).astype(np.float32))
    values = convert(np.array([0, 1], np.float32))
    sizes = [*x.shape, size]
    return node("OneHot", [x, convert(size, x.dtype), values], "float32", sizes)


# Element by element


def tanh(x: Tensor) -> Tensor:
    return unary("Tanh", x)


def sigmoid(x: Tensor) -> Tensor:
    return unary("Sigmoid", x)


def relu(x: Tensor) -> Tensor:
    return unary("Relu", x)


def exp(x: Tensor) -> Tensor:
    return unary("Exp", x)


def log(x: Tensor) -> Tensor:
    return unary("Log", x)


def sqrt(x: Tensor) -> Tensor:
    return unary("Sqrt", x)


def rsqrt(x: Tensor) -> Tensor:
    return 1.0 / sqrt(x)


def abs(x: Tensor) -> Tensor:
    return unary("Abs", x)


def maximum(x: Tensor, y: Tensor) -> Tensor:
    return binary("Max", x, y)


def minimum(x: Tensor, y: Tensor) -> Tensor:
    return binary("Min", x, y)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    x, y = alike(x, y)
    if all(one.array is not None for one in (condition, x, y)):
        return convert(np.where(condition.array, x.array, y.array))
    sizes = broadcast(condition.shape, x.shape, y.shape)
    return node("Where", [condition, x, y], x.dtype, sizes)


def add_n(xs: Sequence[Tensor]) -> Tensor:
    total, *others = xs
    for x in others:
        total = total + x
    return total


def bias_add(x: Tensor, bias: Tensor) -> Tensor:
    return x + bias


# Along an axis


def _reduce(op: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    x = convert(x)
    axes = [*range(len(x.shape))] if axis is None else [axis % len(x.shape)]
    if x.array is not None:
        function: Any = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMean": np.mean}[op]
        return convert(function(x.array, axis=tuple(axes), keepdims=keepdims))
    sizes = [
        1 if i in axes else size for i, size in enumerate(x.shape) if keepdims or i not in axes
    ]
    return node(op, [x, integers(axes)], x.dtype, sizes, keepdims=int(keepdims))


def sum(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    return _reduce("ReduceSum", x, axis, keepdims)


def mean(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    return _reduce("ReduceMean", x, axis, keepdims)


def max(x: Tensor, axis: int | None, keepdims: bool = False) -> Tensor:
    return _reduce("ReduceMax", x, axis, keepdims)


def logsumexp(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    # not -inf, because -inf - -inf is not a number
    largest = maximum(max(x, axis, keepdims=True), convert(_LOWEST))
    total = log(sum(exp(x - largest), axis, keepdims=True)) + largest
    return total if keepdims else squeeze(total, axis)


def log_softmax(x: Tensor) -> Tensor:
    return node("LogSoftmax", [x], x.dtype, x.shape, axis=-1)


def cumsum(x: Tensor, axis: int, reverse: bool) -> Tensor:
    return node("CumSum", [x, integers(axis)], x.dtype, x.shape, reverse=int(reverse))


# Products


def _near(matrix: Tensor) -> Tensor:
    """A matrix of a product, in the product's graph or in the one around it.

    Only there ONNX Runtime rearranges it once, when it loads the graph, and not in every call.
    """
    here = current()
    home = here.outermost.fixed.get(matrix.name)
    if home is None or home in (here, here.outer):
        return matrix
    with within(typed(Graph, here.outer)):  # ONNX Runtime removes other operations that only copy
        return node("Concat", [matrix], matrix.dtype, matrix.shape, axis=0)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    if x.array is not None and y.array is not None:
        return convert(x.array @ y.array)
    y = _near(y)
    sizes = [*broadcast(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]]
    return node("MatMul", [x, y], x.dtype, sizes)


def vecmat(x: Tensor, y: Tensor) -> Tensor:
    return squeeze(matmul(expand_dims(x, -2), y), -2)


def integer_product(x: Tensor, integers: Tensor, scale: Tensor) -> Tensor:
    step, zero = convert(np.float32(1 / 127)), convert(np.uint8(128))
    q = node("QuantizeLinear", [x, step, zero], "uint8", x.shape)
    sizes = [x.shape[0], integers.shape[1]]
    inputs = [q, _near(integers), step, _near(scale), zero]
    return node("MatMulIntegerToFloat", inputs, "float32", sizes)


# Places


def take_each(x: Tensor, places: Tensor) -> Tensor:
    places = cast(places, "int64")
    sizes = [x.shape[0] if places.shape[0] is None else places.shape[0], *places.shape[1:]]
    if len(x.shape) == len(places.shape) == 2:
        return node("GatherElements", [x, places], x.dtype, sizes, axis=1)
    inputs = [x, expand_dims(places, -1)]
    return node("GatherND", inputs, x.dtype, [*sizes, *x.shape[2:]], batch_dims=1)


def take_at(x: Tensor, places: Tensor) -> Tensor:
    sizes = [*places.shape[:-1], *x.shape[typed(int, places.shape[-1]) :]]
    return node("GatherND", [x, cast(places, "int64")], x.dtype, sizes)


def scatter(places: Tensor, values: Tensor, sizes: Sequence) -> Tensor:
    return scatter_update(full(sizes, 0, values.dtype), places, values)


def scatter_update(x: Tensor, places: Tensor, values: Tensor) -> Tensor:
    return node("ScatterND", [x, cast(places, "int64"), values], x.dtype, x.shape)


def top_k(x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
    return _top(x, k, largest=1)


def _top(x: Tensor, k: Any, largest: int) -> tuple[Tensor, Tensor]:
    sizes = [*x.shape[:-1], *known_sizes([k])]
    count = reshape(integers(k), [1])
    values, places = add("TopK", [x, count], 2, axis=-1, largest=largest)
    return Tensor(x.dtype, sizes, values), Tensor("int64", sizes, places)


def sort(x: Tensor) -> Tensor:
    return _top(x, shape(x)[-1], largest=0)[0]


def argsort_descending(x: Tensor) -> Tensor:
    return _top(x, shape(x)[-1], largest=1)[1]


def unique(x: Tensor) -> tuple[Tensor, Tensor]:
    # ONNX Runtime does not have it for int32
    once, _, places, _ = add("Unique", [cast(x, "int64")], 4, sorted=0)
    return cast(Tensor("int64", [None], once), x.dtype), Tensor("int64", x.shape, places)


# Control flow


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    if condition.array is not None:
        return yes() if condition.array else no()
    bodies, results = [], []
    for function in (yes, no):
        with graph(current()) as inside:
            results.append(function())
            bodies.append(body_of(inside, [], nest.flatten(results[-1])))
    one, other = map(nest.flatten, results)
    then, otherwise = bodies
    names = add("If", [condition], len(one), then_branch=then, else_branch=otherwise)
    tensors = [
        Tensor(
            x.dtype, [n if n == m else None for n, m in zip(x.shape, y.shape, strict=True)], name
        )
        for x, y, name in zip(one, other, names, strict=True)
    ]
    return nest.pack(results[0], tensors)


def stack_of(function: Callable[[Tensor], Tensor], number: Any) -> Tensor:
    here = current()
    with graph(here) as inside:
        place = new_input(inside.fresh(), "int64", [])
        going = new_input(inside.fresh(), "bool", [])
        result = function(place)
        body = body_of(inside, inside.inputs, [going, result])
    sizes = [*known_sizes([number]), *result.shape]
    return node("Loop", [integers(number), None], result.dtype, sizes, body=body)


def scan(
    cell: Any, carry: Any, inputs: Any, fixed: Any, *, differentiable: bool = True
) -> tuple[Any, Any]:
    states, steps = nest.flatten(carry), nest.flatten((inputs, fixed))
    with graph(current()) as inside:
        before = [new_input(inside.fresh(), x.dtype, x.shape) for x in states]
        here = [new_input(inside.fresh(), x.dtype, x.shape[1:]) for x in steps]
        outputs, after = cell.step(nest.pack(carry, before), *nest.pack((inputs, fixed), here))
        flat = nest.flatten(outputs)
        body = body_of(inside, inside.inputs, [*nest.flatten(after), *flat])
    count = len(states) + len(flat)
    names = add("Scan", [*states, *steps], count, body=body, num_scan_inputs=len(steps))
    last = [Tensor(x.dtype, x.shape, name) for x, name in zip(states, names, strict=False)]
    stacked = [
        Tensor(x.dtype, [steps[0].shape[0], *x.shape], name)
        for x, name in zip(flat, names[len(states) :], strict=True)
    ]
    return nest.pack(outputs, stacked), nest.pack(carry, last)


# Gradients, which graphs do not have


def stop_gradient(x: Tensor) -> Tensor:
    return x


def identity(x: Tensor) -> Tensor:
    return x


def at_once(function: Callable[..., Tensor], *given: Tensor) -> Tensor:
    return function(*given)
