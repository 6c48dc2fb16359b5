"""cgru's ONNX files: the description of the model, its arrays, and the interface of its graph.

A file is a message of Protocol Buffers. cgru reads the arrays and checks the interface, which is
for other programs; it computes a model with graphs of its own (`network/graphs.py`).
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CgruError, parsing, reading
from ..parameters.integers import Integers
from ..parameters.structure import Condition, Structure
from . import protobuf
from .array_files import MOST_ARRAYS, StoredArray

ATTRIBUTE = "cgru"  # the key of the description in the metadata
BEGIN, STEP, NARROW_STEP, SCORING_STEP = range(4)  # the values of the graph's input `task`
VERSION = 1  # of the graph's inputs, outputs and description
INTEGERS, SCALE = "/integers", "/scale"  # the parts of a matrix in 8 bits
_OLD_SCALE = "/scales"  # until cgru 0.2, whose other matrices in 8 bits had no names
# numbers of the fields to read, from onnx.proto
_GRAPH, _METADATA = 7, 14
_INITIALIZER, _INPUT, _OUTPUT = 5, 11, 12
_KEY, _VALUE = 1, 2
_DIMENSIONS, _TYPE, _NAME, _RAW, _OUTSIDE = 1, 2, 8, 9, 13
_KIND, _SIZES, _SIZE = 2, 2, 1
_TYPES: dict[int, np.dtype] = {
    number: np.dtype(f"<{name}")
    for number, name in enumerate("f4 u1 i1 u2 i2 i4 i8 texts ? f2 f8 u4 u8".split(), start=1)
    if name != "texts"
}


class Kind(NamedTuple):
    """The data type and the sizes of an input or output; None: any size."""

    dtype: str
    shape: tuple[int | None, ...]

    def fits(self, other: Kind) -> bool:
        """Whether data can be of both kinds."""
        sizes = zip(self.shape, other.shape, strict=False)
        same = all(n == m or n is None or m is None for n, m in sizes)
        return self.dtype == other.dtype and len(self.shape) == len(other.shape) and same

    def __str__(self) -> str:
        sizes = ", ".join("any" if size is None else str(size) for size in self.shape)
        return f"{self.dtype} ({sizes})"


class Contents(NamedTuple):
    """An opened file: arrays by name, its description, and the graph's interface."""

    arrays: dict[str, StoredArray]
    description: str
    inputs: dict[str, Kind]
    outputs: dict[str, Kind]


def inputs_of(structure: Structure) -> dict[str, Kind]:
    """The inputs of a model's graph by name, besides `cells.N` and `memory.N`; see docs/onnx.md."""
    numbers = "float32" if structure.condition is Condition.VECTOR else "int32"
    kinds = {
        "source": Kind(numbers, (None, None, structure.source_columns)),
        "source_mask": Kind("float32", (None, None)),
    }
    for name in ("parents", "previous", "sentence", "slot"):
        kinds[name] = Kind("int32", (None,))
    kinds["count"] = Kind("int32", ())
    kinds["asked"] = Kind("int32", (None, None))
    kinds["banned"] = Kind("int32", (None, 2))
    if structure.type.writes_text:
        kinds["words"] = Kind("int32", (None,))
        kinds["members"] = Kind("bool", (None, None))
        kinds["sets"] = Kind("int32", (None,))
    return kinds | {"task": Kind("int32", ())}


def outputs_of(structure: Structure) -> dict[str, Kind]:
    """The outputs of a model's graph by name, besides `new_cells.N` and `new_memory.N`."""
    names = ["log_probs", "all_log_probs", *["alignment"] * structure.attends]
    scores = dict.fromkeys(names, Kind("float32", (None, None)))
    return {"best": Kind("int32", (None, None))} | scores


@contextlib.contextmanager
def open_onnx(path: Path) -> Iterator[Contents]:
    """The contents of a file; arrays are readable inside the `with` block.

    Raises CgruError for a damaged file, and for an ONNX file of another program.
    """
    with contextlib.ExitStack() as stack:
        with reading(path):
            file = stack.enter_context(open(path, "rb"))
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with parsing(path, "not a complete ONNX file"):
            found = Contents({}, "", {}, {})
            for field, value in protobuf.fields(content, 0, len(content)):
                if field == _METADATA:
                    entry = dict(protobuf.fields(content, value.start, value.stop))
                    if content[entry[_KEY]] == ATTRIBUTE.encode():
                        found = found._replace(description=content[entry[_VALUE]].decode())
                elif field == _GRAPH:
                    _read_graph(path, content, value, found)
        if not found.description:
            raise CgruError(f"{path}: an ONNX model that cgru did not write")
        if len(found.arrays) > MOST_ARRAYS:
            count = len(found.arrays)
            raise CgruError(f"{path}: {count} arrays; a model has at most {MOST_ARRAYS}")
        yield found._replace(arrays=_joined(path, found.arrays))


def check_interface(path: Path, found: Contents, structure: Structure) -> None:
    """Raise CgruError unless the graph has the inputs and outputs of models of this structure."""
    inputs: dict[str, Kind | None] = dict(inputs_of(structure))
    outputs: dict[str, Kind | None] = dict(outputs_of(structure))
    for name in ("cells", "memory"):
        given = [one for one in found.inputs if one.startswith(f"{name}.")]
        made = [one for one in found.outputs if one.startswith(f"new_{name}.")]
        for i in range(max(len(given), len(made), name == "cells")):
            one, other = f"{name}.{i}", f"new_{name}.{i}"
            inputs[one], outputs[other] = found.outputs.get(other), found.inputs.get(one)
    for side, kinds, expected in (
        ("input", found.inputs, inputs),
        ("output", found.outputs, outputs),
    ):
        for name, kind in expected.items():
            if name not in kinds:
                raise CgruError(f"{path}: its graph has no {side} {name}; convert the model again")
            if kind and not kind.fits(kinds[name]):
                raise CgruError(
                    f"{path}: {side} {name} of its graph: expected {kind}, found {kinds[name]}"
                )


def _read_graph(path: Path, content: mmap.mmap, graph: slice, found: Contents) -> None:
    """Add the arrays, inputs and outputs of the graph."""
    for field, value in protobuf.fields(content, graph.start, graph.stop):
        if field == _INITIALIZER:
            array = _array(path, content, value)
            if array is not None:
                found.arrays[array.name] = array
        elif field in (_INPUT, _OUTPUT):
            name, kind = _described(content, value)
            (found.inputs if field == _INPUT else found.outputs)[name] = kind


def _described(content: mmap.mmap, info: slice) -> tuple[str, Kind]:
    """The name and the kind of an input or output, from its ValueInfoProto."""
    fields = _fields(content, info)
    tensor = _fields(content, _fields(content, fields[_KIND])[1])
    shape = tensor[_SIZES]
    sizes = [
        _fields(content, dimension).get(_SIZE)
        for _, dimension in protobuf.fields(content, shape.start, shape.stop)
    ]
    dtype = _TYPES.get(tensor[1])
    return content[fields[1]].decode(), Kind(dtype.name if dtype else "no numbers", tuple(sizes))


def _fields(content: mmap.mmap, message: slice) -> dict[int, Any]:
    """The last of each field of a message."""
    return dict(protobuf.fields(content, message.start, message.stop))


def _joined(path: Path, stored: dict[str, StoredArray]) -> dict[str, StoredArray]:
    """The arrays, with the integers and the scale of a matrix as one, whose content is `Integers`.

    The scale is (1,M), of each column, or (N,1), of each row.
    """
    result = {name: array for name, array in stored.items() if "/" not in name}
    for name, integers in stored.items():
        if not name.endswith(INTEGERS):
            continue
        name = name.removesuffix(INTEGERS)
        if f"{name}{_OLD_SCALE}" in stored:
            continue
        scale, shape = stored.get(f"{name}{SCALE}"), integers.shape
        by_column, by_row = (1, *shape[1:]), (*shape[:1], 1)
        if scale is None:
            raise CgruError(f"{path}: array {name}: its integers lack a scale")
        if scale.shape not in (by_column, by_row) or (integers.dtype, scale.dtype) != ("i1", "f4"):
            raise CgruError(
                f"{path}: array {name}: integers {shape} of {integers.dtype} with a scale "
                f"{scale.shape} of {scale.dtype}; expected int8, and float32 by column or row"
            )

        def read(integers: StoredArray = integers, scale: StoredArray = scale) -> Any:
            axis = 1 if scale.shape == (1, *integers.shape[1:]) else 0
            return Integers(integers.read(), scale.read().ravel(), axis)

        result[name] = StoredArray(name, shape, integers.dtype, read)
    return result


def _array(path: Path, content: mmap.mmap, tensor: slice) -> StoredArray | None:
    """An array of the model; None for a constant of the graph."""
    shape: list[int] = []
    fields: dict[int, Any] = {}
    for field, value in protobuf.fields(content, tensor.start, tensor.stop):
        if field != _DIMENSIONS:
            fields[field] = value
        elif isinstance(value, int):
            shape.append(value)
        else:  # several at once
            place = value.start
            while place < value.stop:
                size, place = protobuf.read_varint(content, place)
                shape.append(size)
    name, raw, dtype = content[fields[_NAME]].decode(), fields.get(_RAW), _TYPES.get(fields[_TYPE])
    if _OUTSIDE in fields:
        raise CgruError(
            f"{path}: array {name} is in another file; store the model as one file, with onnx.load "
            "and onnx.save"
        )
    if "/" in name and not name.endswith((INTEGERS, SCALE, _OLD_SCALE)):
        return None
    if raw is None or dtype is None:  # texts, or numbers stored in another way
        return StoredArray(name, tuple(shape), np.dtype(object), lambda: np.empty(0, object))
    if len(shape) > 4 or int(np.prod(shape, dtype=object)) * dtype.itemsize != raw.stop - raw.start:
        stored = f"{raw.stop - raw.start} bytes are stored"
        raise CgruError(f"{path}: array {name}: {tuple(shape)} of {dtype}, but {stored}")

    def read() -> np.ndarray:
        return np.frombuffer(content[raw], dtype).reshape(shape)

    return StoredArray(name, tuple(shape), dtype, read)
