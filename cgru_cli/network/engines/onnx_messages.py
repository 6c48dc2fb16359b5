"""The messages of ONNX (onnx.proto) as bytes of Protocol Buffers.

The package onnx has classes for them. Importing it takes a tenth of the CPU time in which a small
model translates a line, and its messages copy every array several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...formats.protobuf import head, message, number

DATA_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
}  # fmt: skip
IR_VERSION = 10  # of the format
_INTEGER, _GRAPH, _INTEGERS = 2, 5, 7  # types of attributes
_EXTERNAL = 1
Part = bytes | memoryview


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: Mapping
) -> bytes:
    """A NodeProto. attributes: an integer, integers, or a GraphProto, by name."""
    return b"".join(
        [
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, op),
            *(message(5, _attribute(name, value)) for name, value in attributes.items()),
            _text(7, domain),
        ]
    )


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return _text(1, name) + message(6, value) + number(20, _GRAPH)
    if isinstance(value, int):
        return _text(1, name) + number(3, value) + number(20, _INTEGER)
    return _text(1, name) + b"".join(number(8, one) for one in value) + number(20, _INTEGERS)


def tensor(name: str, array: np.ndarray, *, outside: bool = False) -> list[Part]:
    """The parts of a TensorProto; outside: without the numbers, which are in memory."""
    sizes = b"".join(number(1, size) for size in array.shape)
    about = sizes + number(2, DATA_TYPES[array.dtype.name]) + _text(8, name)
    if outside:
        return [about, message(13, _entry("location", "memory")), number(14, _EXTERNAL)]
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return [about, head(9, len(content)), content]


def value(name: str, dtype: str, shape: Sequence[int | str | None]) -> bytes:
    """A ValueInfoProto, of a tensor. shape: sizes, names of sizes, or None for unknown sizes."""
    sizes = [
        b"" if size is None else _text(2, size) if isinstance(size, str) else number(1, size)
        for size in shape
    ]
    kind = number(1, DATA_TYPES[dtype]) + message(2, b"".join(message(1, one) for one in sizes))
    return _text(1, name) + message(2, message(1, kind))


def graph(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[Sequence[Part]],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
) -> list[Part]:
    """The parts of a GraphProto."""
    parts: list[Part] = [message(1, one) for one in nodes]
    parts.append(_text(2, name))
    for one in tensors:
        parts += [head(5, sum(map(len, one))), *one]
    parts += [message(11, one) for one in inputs]
    return parts + [message(12, one) for one in outputs]


def model(parts: Sequence[Part], versions: Mapping[str, int], metadata: Mapping[str, str]) -> bytes:
    """A ModelProto of the parts of a graph. versions: of the operators, by domain."""
    return b"".join(
        [
            number(1, IR_VERSION),
            _text(2, "cgru"),
            *(message(8, _text(1, domain) + number(2, n)) for domain, n in versions.items()),
            *(message(14, _entry(key, text)) for key, text in metadata.items()),
            head(7, sum(map(len, parts))),
            *parts,
        ]
    )


def _entry(key: str, text: str) -> bytes:
    return _text(1, key) + _text(2, text)


def _text(field: int, text: str) -> bytes:
    return message(field, text.encode())
