"""An ONNX graph under construction: its nodes, the names of results, and its constants.

A constant becomes an initializer when a node reads it; a node that exists already is used again.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

from . import onnx_messages as messages

OPSET = 18
# Larger constants belong to the outermost graph, where ONNX Runtime rearranges them once.
INNER = 4096


class Value:
    """A constant, with its `array`, or a result in a graph, with its `name`.

    shape: with None for sizes that are known only when the graph runs.
    """

    def __init__(self, dtype: str, shape: Sequence[int | None], name: str, array: Any = None):
        self.dtype, self.shape, self.name, self.array = dtype, tuple(shape), name, array


class Graph:
    """A graph under construction, inside the outer graph of a loop or condition."""

    def __init__(self, outer: Graph | None = None):
        self.outer = outer
        self.nodes: list[bytes] = []
        self.inputs: list[Value] = []
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
        return self.outer.outermost if self.outer else self

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


_GRAPH: ContextVar[Graph] = ContextVar("graph")


@contextlib.contextmanager
def within(one: Graph) -> Iterator[Graph]:
    """Let the operations of this block add nodes to a graph."""
    token = _GRAPH.set(one)
    try:
        yield one
    finally:
        _GRAPH.reset(token)


def graph(outer: Graph | None = None) -> contextlib.AbstractContextManager[Graph]:
    """A new graph, to which the operations of a block add nodes."""
    return within(Graph(outer))


def current() -> Graph:
    """The graph to which operations add nodes."""
    return _GRAPH.get()


def model_of(
    whole: Graph,
    outputs: Mapping[str, Value],
    *,
    outside: float = math.inf,
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> tuple[bytes, dict[str, np.ndarray]]:
    """The finished graph with outputs by name, and its large constants by name.

    outside: constants of at least so many bytes are only described in the message; ONNX Runtime
    takes them from memory.
    """
    results = [_as_output(whole, x, name, sizes=True) for name, x in outputs.items()]
    large = {name: x for name, x in whole.constants.items() if x.nbytes >= outside}
    parts = messages.graph(
        "cgru",
        whole.nodes,
        [messages.tensor(name, x, outside=name in large) for name, x in whole.constants.items()],
        [_described(x, sizes=True) for x in whole.inputs],
        results,
    )
    whole.fixed.clear()  # refers to the graph itself, which would keep arrays
    return messages.model(parts, whole.opsets, metadata), large


def _described(x: Value, name: str | None = None, *, sizes: bool = False) -> bytes:
    """The type and shape of an input or output.

    sizes: whether to name sizes that vary, each differently, because ONNX Runtime for JavaScript
    takes them for large numbers otherwise.
    """
    name = name or x.name
    shape = [f"{name}[{i}]" if size is None and sizes else size for i, size in enumerate(x.shape)]
    return messages.value(name, x.dtype, shape)


def _as_output(inside: Graph, x: Value, name: str, *, sizes: bool = False) -> bytes:
    """Give a result the name of an output; sizes: whether to name variable sizes."""
    inside.nodes.append(messages.node("Identity", [name_of(x)], [name], "", {}))
    return _described(x, name, sizes=sizes)


def name_of(x: Value) -> str:
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


def add(op: str, inputs: Sequence[Value | None], outputs: int, **attributes: Any) -> list[str]:
    """The names of the results of an operation; a graph among its attributes is a message."""
    here = _GRAPH.get()
    names = [name_of(x) if x is not None else "" for x in inputs]
    key = None
    if not any(isinstance(value, bytes) for value in attributes.values()):
        key = (op, *names, repr(attributes))
        if known := here.find(key):
            return known
    results = [here.fresh() for _ in range(outputs)]
    domain = "com.microsoft" if op == "MatMulIntegerToFloat" else ""
    here.outermost.opsets.setdefault(domain, 1)
    here.nodes.append(messages.node(op, names, results, domain, attributes))
    if key:
        here.known[key] = results
        if all(name in here.outermost.fixed for name in names):
            here.outermost.fixed |= dict.fromkeys(results, here)
    return results


def body_of(inside: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> bytes:
    """The graph of a loop or condition."""
    described = [_as_output(inside, x, inside.fresh()) for x in outputs]
    tensors = [messages.tensor(name, x) for name, x in inside.constants.items()]
    given = [_described(x) for x in inputs]
    return b"".join(messages.graph(inside.fresh(), inside.nodes, tensors, given, described))
