"""The operations of `ops` as nodes of an ONNX graph.

Each operation adds a node to the graph under construction, unless all its arguments are constants:
then NumPy computes it at once, such as the joined or transposed matrices of a model. Constants
become initializers when a node reads them, and a node that exists already is used again.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any
from typing import cast as typed

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from ...formats import protobuf
from .. import nest

OPSET = 18
# fields of messages
_GRAPH_FIELD, _INITIALIZER = ModelProto.GRAPH_FIELD_NUMBER, GraphProto.INITIALIZER_FIELD_NUMBER
_RAW_DATA = TensorProto.RAW_DATA_FIELD_NUMBER
# Larger constants belong to the outermost graph, where ONNX Runtime rearranges them once.
INNER = 4096
_CODES: dict[str, int] = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
_ALL = 2**62  # larger than any axis
_LOWEST = float(np.finfo(np.float32).min)
Shape = tuple[int | None, ...]  # None: known only when the graph runs


class Tensor:
    """A constant, with its `array`, or a result in a graph, with its `name`."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, dtype: str, shape: Sequence[int | None], name: str, array: Any = None):
        self.dtype, self.shape, self.name, self.array = dtype, tuple(shape), name, array

    def __add__(self, other: Any) -> Tensor:
        return _binary("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _binary("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _binary("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _binary("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _binary("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _binary("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _binary("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _binary("Div", other, self)

    def __floordiv__(self, other: Any) -> Tensor:  # of integers that are not negative
        return _binary("Div", self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _binary("Div", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return _binary("Mod", self, other)

    def __neg__(self) -> Tensor:
        return _unary("Neg", self)

    def __lt__(self, other: Any) -> Tensor:
        return _binary("Less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return _binary("LessOrEqual", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _binary("Greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _binary("GreaterOrEqual", self, other)

    def __eq__(self, other: object) -> Any:
        return _binary("Equal", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a tensor of a graph has no truth value; see cond")

    def __getitem__(self, key: Any) -> Tensor:
        return _indexed(self, key if isinstance(key, tuple) else (key,))


# The graph under construction


class Graph:
    """A graph under construction, inside the outer graph of a loop or condition."""

    def __init__(self, outer: Graph | None = None):
        self.outer = outer
        self.nodes: list[NodeProto] = []
        self.inputs: list[Tensor] = []
        self.constants: dict[str, np.ndarray] = {}
        self.known: dict[Any, Any] = {}  # results by operation, inputs and attributes
        # in the outermost graph: the graphs of all values that depend only on arrays
        self.fixed: dict[str, Graph] = {}
        # in the outermost graph: the number of names, and the versions of the sets of operations
        self.count = 0
        self.opsets = {"": OPSET}

    @property
    def outermost(self) -> Graph:
        """The graph that has no outer one."""
        return self.outer.outermost if self.outer else self  # not stored: a cycle keeps arrays

    def fresh(self) -> str:
        """A new name, unlike those of a model's arrays."""
        self.outermost.count += 1
        return f"/{self.outermost.count}"

    def find(self, key: Any) -> Any:
        """A result that this graph or an outer one has, or None."""
        graph: Graph | None = self
        while graph is not None:
            if (found := graph.known.get(key)) is not None:
                return found
            graph = graph.outer
        return None

    def input(self, name: str, dtype: str, shape: Sequence[int | None]) -> Tensor:
        """A new input of the graph."""
        self.inputs.append(Tensor(dtype, shape, name))
        return self.inputs[-1]

    def parameter(self, name: str, array: np.ndarray) -> Tensor:
        """A named array, which the graph and not NumPy makes ready for use."""
        self.constants[name] = array
        self.outermost.fixed[name] = self
        return Tensor(array.dtype.name, array.shape, name)


_GRAPH: ContextVar[Graph] = ContextVar("graph")


@contextlib.contextmanager
def graph(outer: Graph | None = None) -> Iterator[Graph]:
    """A new graph, to which the operations of this block add nodes."""
    new = Graph(outer)
    token = _GRAPH.set(new)
    try:
        yield new
    finally:
        _GRAPH.reset(token)


def model_of(whole: Graph, outputs: dict[str, Tensor], outside: int) -> tuple[ModelProto, dict]:
    """The finished graph with outputs by name, and its large constants by name.

    outside: constants of at least so many bytes are only described in the message; ONNX Runtime
    takes them from memory, and `with_arrays` adds them to it.
    """
    results = [_as_output(whole, x, name, sizes=True) for name, x in outputs.items()]
    large = {name: x for name, x in whole.constants.items() if x.nbytes >= outside}
    initializers = []
    for name, array in whole.constants.items():
        tensor = TensorProto(name=name, data_type=_CODES[array.dtype.name], dims=array.shape)
        if name in large:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="memory")
        else:
            tensor.raw_data = np.ascontiguousarray(array).tobytes()
        initializers.append(tensor)
    proto = GraphProto(
        name="cgru",
        node=whole.nodes,
        initializer=initializers,
        input=[_described(x, sizes=True) for x in whole.inputs],
        output=results,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in whole.opsets.items()]
    model = ModelProto(ir_version=10, producer_name="cgru", opset_import=opsets, graph=proto)
    return model, large


def with_arrays(model: ModelProto, arrays: dict[str, np.ndarray]) -> bytes:
    """The message of a model with the arrays that are outside it.

    It is joined here because Protocol Buffers would copy every array several times.
    """
    graph, tensors = model.graph, []
    inside = [tensor for tensor in graph.initializer if tensor.name not in arrays]
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        start = TensorProto(name=name, data_type=_CODES[array.dtype.name], dims=array.shape)
        head = start.SerializeToString() + protobuf.head(_RAW_DATA, array.nbytes)
        tensors += [protobuf.head(_INITIALIZER, len(head) + array.nbytes), head, array.data]
    del graph.initializer[:]
    graph.initializer.extend(inside)
    parts = [graph.SerializeToString(), *tensors]
    size = sum_of([memoryview(part).nbytes for part in parts])
    model.ClearField("graph")
    return b"".join([model.SerializeToString(), protobuf.head(_GRAPH_FIELD, size), *parts])


def _described(x: Tensor, name: str | None = None, *, sizes: bool = False) -> Any:
    """The type and shape of an input or output.

    sizes: whether to name sizes that vary, each differently, because ONNX Runtime for JavaScript
    takes them for large numbers otherwise.
    """
    name = name or x.name
    shape = [f"{name}[{i}]" if size is None and sizes else size for i, size in enumerate(x.shape)]
    return helper.make_tensor_value_info(name, _CODES[x.dtype], shape)


def _as_output(inside: Graph, x: Tensor, name: str, *, sizes: bool = False) -> Any:
    """Give a result the name of an output. sizes: see `_described`."""
    inside.nodes.append(NodeProto(op_type="Identity", input=[_name(x)], output=[name]))
    return _described(x, name, sizes=sizes)


def _name(x: Tensor) -> str:
    """The name of a tensor; a constant becomes an initializer."""
    if x.array is None:
        return x.name
    here, array = _GRAPH.get(), x.array
    small = array.size <= INNER
    key = ("constant", x.dtype, array.shape, array.tobytes()) if small else ("array", id(array))
    if known := here.find(key):
        return known[0]
    home = here if small else here.outermost
    name = here.fresh()
    home.constants[name] = array
    home.known[key] = name, array  # the array too, so that no other one gets its id
    home.outermost.fixed[name] = home
    return name


def _nodes(op: str, inputs: Sequence[Tensor | None], outputs: int, **attributes: Any) -> list[str]:
    """The names of an operation's results."""
    here = _GRAPH.get()
    names = [_name(x) if x is not None else "" for x in inputs]
    key = None
    if not any(isinstance(value, GraphProto) for value in attributes.values()):
        key = (op, *names, repr(attributes))
        if known := here.find(key):
            return known
    results = [here.fresh() for _ in range(outputs)]
    domain = "com.microsoft" if op == "MatMulIntegerToFloat" else ""
    here.outermost.opsets.setdefault(domain, 1)
    here.nodes.append(
        NodeProto(
            op_type=op,
            input=names,
            output=results,
            domain=domain,
            attribute=[_attribute(name, value) for name, value in attributes.items()],
        )
    )
    if key:
        here.known[key] = results
        if all(name in here.outermost.fixed for name in names):
            here.outermost.fixed |= dict.fromkeys(results, here)
    return results


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, GraphProto):
        return AttributeProto(name=name, type=AttributeProto.GRAPH, g=value)
    if isinstance(value, int):
        return AttributeProto(name=name, type=AttributeProto.INT, i=value)
    return AttributeProto(name=name, type=AttributeProto.INTS, ints=value)


def _node(
    op: str, inputs: Sequence[Tensor | None], dtype: str, shape: Sequence, **attributes: Any
) -> Tensor:
    """The only result of an operation."""
    (name,) = _nodes(op, inputs, 1, **attributes)
    return Tensor(dtype, shape, name)


def _body(inside: Graph, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> GraphProto:
    """The graph of a loop or condition."""
    described = [_as_output(inside, x, inside.fresh()) for x in outputs]
    return GraphProto(
        name=inside.fresh(),
        node=inside.nodes,
        initializer=[
            TensorProto(
                name=name,
                data_type=_CODES[array.dtype.name],
                dims=array.shape,
                raw_data=array.tobytes(),
            )
            for name, array in inside.constants.items()
        ],
        input=[_described(x) for x in inputs],
        output=described,
    )


# Types and shapes


def convert(x: Any, dtype: str | None = None) -> Tensor:
    if isinstance(x, Tensor):
        return x if dtype is None else cast(x, dtype)
    array = np.asarray(x, dtype)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return Tensor(array.dtype.name, array.shape, "", np.asarray(array, order="C"))


def _integers(values: Any) -> Tensor:
    """Sizes or places as int64: a number, a sequence of numbers and scalar tensors, or a tensor."""
    if isinstance(values, list | tuple) and any(isinstance(one, Tensor) for one in values):
        return concat([reshape(_integers(one), [1]) for one in values], 0)
    return convert(values, "int64")


def _known(sizes: Sequence) -> list[int | None]:
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
    return _node("Cast", [x], dtype, x.shape, to=_CODES[dtype])


def floats_of_bits(x: Tensor) -> Tensor:
    assert x.dtype == "float32"  # noqa: S101 - graphs get numbers as such
    return x


def shape(x: Tensor) -> tuple:
    if None not in x.shape:
        return x.shape
    sizes = _node("Shape", [x], "int64", [len(x.shape)])
    return tuple(sizes[i] if size is None else size for i, size in enumerate(x.shape))


def reshape(x: Tensor, sizes: Sequence) -> Tensor:
    x, known = convert(x), _known(sizes)
    if x.array is not None and None not in known:
        return convert(x.array.reshape(known))
    if known.count(None) == 1 and -1 not in known:
        sizes = known = [-1 if size is None else size for size in known]
    result: list[int | None] = [None if size == -1 else size for size in known]
    if result.count(None) == 1 and None not in x.shape:
        rest = math.prod(size for size in result if size is not None)
        whole = math.prod(typed(tuple[int, ...], x.shape))
        result = [whole // rest if size is None else size for size in result]
    return _node("Reshape", [x, _integers(sizes)], x.dtype, result)


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    x = convert(x)
    order = list(range(len(x.shape)))[::-1] if axes is None else list(axes)
    if x.array is not None:
        return convert(x.array.transpose(order))
    return _node("Transpose", [x], x.dtype, [x.shape[axis] for axis in order], perm=order)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape) + 1
    if x.array is not None:
        return convert(np.expand_dims(x.array, axis))
    sizes = [*x.shape[:axis], 1, *x.shape[axis:]]
    return _node("Unsqueeze", [x, _integers([axis])], x.dtype, sizes)


def squeeze(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    if x.array is not None:
        return convert(x.array.squeeze(axis))
    sizes = [*x.shape[:axis], *x.shape[axis + 1 :]]
    return _node("Squeeze", [x, _integers([axis])], x.dtype, sizes)


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
    return _node("Concat", xs, xs[0].dtype, sizes, axis=axis)


def _columns(xs: Sequence[Tensor]) -> Iterator[tuple[int | None, ...]]:
    return zip(*(x.shape for x in xs), strict=True)


def sum_of(sizes: Sequence[Any]) -> int:
    return int(np.sum(sizes))


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
    names = _nodes("Split", [x, _integers(list(parts))], len(parts), axis=axis)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [
        Tensor(x.dtype, [*before, size, *after], name)
        for name, size in zip(names, parts, strict=True)
    ]


def pad(x: Tensor, widths: Sequence[Sequence], value: float) -> Tensor:
    edges = [pair[side] for side in (0, 1) for pair in widths]
    known = _known(edges)
    sizes = [
        None if None in (size, before, after) else size + before + after  # type: ignore[operator]
        for size, before, after in zip(
            x.shape, known[: len(x.shape)], known[len(x.shape) :], strict=True
        )
    ]
    return _node("Pad", [x, _integers(edges), convert(value, x.dtype)], x.dtype, sizes)


def flip(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    if x.array is not None:
        return convert(np.flip(x.array, axis))
    ends = (_integers([each]) for each in (-1, -_ALL, axis, -1))
    return _node("Slice", [x, *ends], x.dtype, x.shape)


# New arrays


def full(sizes: Sequence, value: float, dtype: str) -> Tensor:
    known = _known(sizes)
    if None not in known:
        return convert(np.full(typed(list[int], known), value, dtype))
    return _node("Expand", [convert(value, dtype), _integers(sizes)], dtype, known)


def full_like(x: Tensor, value: float, dtype: str | None) -> Tensor:
    return full(shape(x), value, dtype or x.dtype)


def arange(start: Any, stop: Any) -> Tensor:
    first, last = _known([start, stop])
    if first is not None and last is not None:
        return convert(np.arange(first, last))
    ends = [_integers(one) for one in (start, stop, 1)]
    return _node("Range", ends, "int64", [None])


def one_hot(x: Tensor, size: int) -> Tensor:
    if x.array is not None:
        return convert((x.array[..., None] == np.arange(size)).astype(np.float32))
    values = convert(np.array([0, 1], np.float32))
    sizes = [*x.shape, size]
    return _node("OneHot", [x, convert(size, x.dtype), values], "float32", sizes)


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
    "Round": np.rint,
}
_COMPARISONS = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}


def _broadcast(*shapes: Sequence[int | None]) -> list[int | None]:
    """The shape of operands together; an unknown size beside a known one is that."""
    rank = int(np.max([len(one) for one in shapes]))
    result: list[int | None] = []
    for sizes in zip(*((1,) * (rank - len(one)) + tuple(one) for one in shapes), strict=True):
        others = [size for size in sizes if size != 1]
        result.append(next((n for n in others if n is not None), None) if others else 1)
    return result


def _alike(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands in one type; a Python number takes the other's."""
    if not isinstance(x, Tensor):
        x = convert(x, y.dtype if isinstance(y, Tensor) else None)
    if not isinstance(y, Tensor):
        y = convert(y, x.dtype)
    if x.dtype != y.dtype and {x.dtype, y.dtype} == {"int32", "int64"}:
        x, y = cast(x, "int64"), cast(y, "int64")
    assert x.dtype == y.dtype, (x.dtype, y.dtype)  # noqa: S101 - a fault of the equations
    return x, y


def _binary(op: str, x: Any, y: Any) -> Tensor:
    x, y = _alike(x, y)
    dtype = "bool" if op in _COMPARISONS else x.dtype
    if x.array is not None and y.array is not None:
        return convert(np.asarray(_NUMPY[op](x.array, y.array), dtype))
    return _node(op, [x, y], dtype, _broadcast(x.shape, y.shape))


def _unary(op: str, x: Tensor) -> Tensor:
    x = convert(x)
    if x.array is not None:
        return convert(np.asarray(_NUMPY[op](x.array), x.dtype))
    return _node(op, [x], x.dtype, x.shape)


def tanh(x: Tensor) -> Tensor:
    return _unary("Tanh", x)


def sigmoid(x: Tensor) -> Tensor:
    return _unary("Sigmoid", x)


def relu(x: Tensor) -> Tensor:
    return _unary("Relu", x)


def exp(x: Tensor) -> Tensor:
    return _unary("Exp", x)


def log(x: Tensor) -> Tensor:
    return _unary("Log", x)


def sqrt(x: Tensor) -> Tensor:
    return _unary("Sqrt", x)


def rsqrt(x: Tensor) -> Tensor:
    return 1.0 / sqrt(x)


def abs(x: Tensor) -> Tensor:
    return _unary("Abs", x)


def maximum(x: Tensor, y: Tensor) -> Tensor:
    return _binary("Max", x, y)


def minimum(x: Tensor, y: Tensor) -> Tensor:
    return _binary("Min", x, y)


def equal(x: Tensor, y: Tensor) -> Tensor:
    return _binary("Equal", x, y)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    x, y = _alike(x, y)
    if all(one.array is not None for one in (condition, x, y)):
        return convert(np.where(condition.array, x.array, y.array))
    sizes = _broadcast(condition.shape, x.shape, y.shape)
    return _node("Where", [condition, x, y], x.dtype, sizes)


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
    return _node(op, [x, _integers(axes)], x.dtype, sizes, keepdims=int(keepdims))


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
    return _node("LogSoftmax", [x], x.dtype, x.shape, axis=-1)


def cumsum(x: Tensor, axis: int, reverse: bool) -> Tensor:
    return _node("CumSum", [x, _integers(axis)], x.dtype, x.shape, reverse=int(reverse))


# Products


def _near(matrix: Tensor) -> Tensor:
    """A matrix of a product, in the product's graph or in the one around it.

    Only there ONNX Runtime rearranges it once, when it loads the graph, and not in every call.
    """
    here = _GRAPH.get()
    home = here.outermost.fixed.get(matrix.name)
    if home is None or home in (here, here.outer):
        return matrix
    token = _GRAPH.set(typed(Graph, here.outer))
    try:  # ONNX Runtime removes other operations that only copy
        return _node("Concat", [matrix], matrix.dtype, matrix.shape, axis=0)
    finally:
        _GRAPH.reset(token)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    if x.array is not None and y.array is not None:
        return convert(x.array @ y.array)
    y = _near(y)
    sizes = [*_broadcast(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]]
    return _node("MatMul", [x, y], x.dtype, sizes)


def vecmat(x: Tensor, y: Tensor) -> Tensor:
    return squeeze(matmul(expand_dims(x, -2), y), -2)


def integer_product(x: Tensor, integers: Tensor, scale: Tensor) -> Tensor:
    step, zero = convert(np.float32(1 / 127)), convert(np.uint8(128))
    q = _node("QuantizeLinear", [x, step, zero], "uint8", x.shape)
    sizes = [x.shape[0], integers.shape[1]]
    inputs = [q, _near(integers), step, _near(scale), zero]
    return _node("MatMulIntegerToFloat", inputs, "float32", sizes)


# Places


def take(x: Tensor, places: Any, axis: int) -> Tensor:
    x, places = convert(x), convert(places)
    axis %= len(x.shape)
    if x.array is not None and places.array is not None:
        return convert(x.array.take(places.array, axis))
    sizes = [*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]]
    return _node("Gather", [x, places], x.dtype, sizes, axis=axis)


def take_each(x: Tensor, places: Tensor) -> Tensor:
    places = cast(places, "int64")
    sizes = [x.shape[0] if places.shape[0] is None else places.shape[0], *places.shape[1:]]
    if len(x.shape) == len(places.shape) == 2:
        return _node("GatherElements", [x, places], x.dtype, sizes, axis=1)
    inputs = [x, expand_dims(places, -1)]
    return _node("GatherND", inputs, x.dtype, [*sizes, *x.shape[2:]], batch_dims=1)


def take_at(x: Tensor, places: Tensor) -> Tensor:
    sizes = [*places.shape[:-1], *x.shape[typed(int, places.shape[-1]) :]]
    return _node("GatherND", [x, cast(places, "int64")], x.dtype, sizes)


def scatter(places: Tensor, values: Tensor, sizes: Sequence) -> Tensor:
    return scatter_update(full(sizes, 0, values.dtype), places, values)


def scatter_update(x: Tensor, places: Tensor, values: Tensor) -> Tensor:
    return _node("ScatterND", [x, cast(places, "int64"), values], x.dtype, x.shape)


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
            end = _ALL if part.stop is None else part.stop
            starts, ends, axes = [*starts, start], [*ends, end], [*axes, axis]
            known, size = _known([start, end]), sizes[axis]
            if size is not None:
                sizes[axis] = None if None in known else len(range(size)[slice(*known)])
    if not axes:
        return x
    ends_of = (_integers(each) for each in (starts, ends, axes))
    return _node("Slice", [x, *ends_of], x.dtype, sizes)


def top_k(x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
    return _top(x, k, largest=1)


def _top(x: Tensor, k: Any, largest: int) -> tuple[Tensor, Tensor]:
    sizes = [*x.shape[:-1], *_known([k])]
    count = reshape(_integers(k), [1])
    values, places = _nodes("TopK", [x, count], 2, axis=-1, largest=largest)
    return Tensor(x.dtype, sizes, values), Tensor("int64", sizes, places)


def sort(x: Tensor) -> Tensor:
    return _top(x, shape(x)[-1], largest=0)[0]


def argsort_descending(x: Tensor) -> Tensor:
    return _top(x, shape(x)[-1], largest=1)[1]


def unique(x: Tensor) -> tuple[Tensor, Tensor]:
    # ONNX Runtime does not have it for int32
    once, _, places, _ = _nodes("Unique", [cast(x, "int64")], 4, sorted=0)
    return cast(Tensor("int64", [None], once), x.dtype), Tensor("int64", x.shape, places)


# Control flow


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    if condition.array is not None:
        return yes() if condition.array else no()
    bodies, results = [], []
    for function in (yes, no):
        with graph(_GRAPH.get()) as inside:
            results.append(function())
            bodies.append(_body(inside, [], nest.flatten(results[-1])))
    one, other = map(nest.flatten, results)
    then, otherwise = bodies
    names = _nodes("If", [condition], len(one), then_branch=then, else_branch=otherwise)
    tensors = [
        Tensor(
            x.dtype, [n if n == m else None for n, m in zip(x.shape, y.shape, strict=True)], name
        )
        for x, y, name in zip(one, other, names, strict=True)
    ]
    return nest.pack(results[0], tensors)


def stack_of(function: Callable[[Tensor], Tensor], number: Any) -> Tensor:
    here = _GRAPH.get()
    with graph(here) as inside:
        place = inside.input(inside.fresh(), "int64", [])
        going = inside.input(inside.fresh(), "bool", [])
        result = function(place)
        body = _body(inside, inside.inputs, [going, result])
    sizes = [*_known([number]), *result.shape]
    return _node("Loop", [_integers(number), None], result.dtype, sizes, body=body)


def scan(
    cell: Any, carry: Any, inputs: Any, fixed: Any, *, differentiable: bool = True
) -> tuple[Any, Any]:
    states, steps = nest.flatten(carry), nest.flatten((inputs, fixed))
    with graph(_GRAPH.get()) as inside:
        before = [inside.input(inside.fresh(), x.dtype, x.shape) for x in states]
        here = [inside.input(inside.fresh(), x.dtype, x.shape[1:]) for x in steps]
        outputs, after = cell.step(nest.pack(carry, before), *nest.pack((inputs, fixed), here))
        flat = nest.flatten(outputs)
        body = _body(inside, inside.inputs, [*nest.flatten(after), *flat])
    count = len(states) + len(flat)
    names = _nodes("Scan", [*states, *steps], count, body=body, num_scan_inputs=len(steps))
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
