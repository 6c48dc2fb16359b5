"""cgru's ONNX files: the description of the model and its arrays.

A file is a message of Protocol Buffers. Only the arrays and the description are read here; ONNX
Runtime reads the computation (`search/onnx_model.py`).
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, parsing, reading
from ..parameters.integers import Integers
from . import protobuf
from .array_files import MOST_ARRAYS, StoredArray

ATTRIBUTE = "cgru"  # the key of the description in the metadata
BEGIN, STEP, NARROW_STEP, SCORING_STEP = range(4)  # the values of the graph's input `task`
VERSION = 1  # of the graph's inputs, outputs and description
# numbers of the fields to read, from onnx.proto
_GRAPH, _METADATA, _INITIALIZER = 7, 14, 5
_KEY, _VALUE = 1, 2
_DIMENSIONS, _TYPE, _NAME, _RAW, _OUTSIDE = 1, 2, 8, 9, 13
_TYPES: dict[int, np.dtype] = {1: np.dtype("<f4"), 10: np.dtype("<f2"), 3: np.dtype("i1")}
INTEGERS, SCALE = "/integers", "/scale"  # the parts of a matrix in 8 bits


@contextlib.contextmanager
def open_onnx(path: Path) -> Iterator[tuple[dict[str, StoredArray], str]]:
    """The arrays of a file by name, readable inside the `with` block, and its description.

    Raises CgruError for a damaged file, and for an ONNX file of another program.
    """
    with contextlib.ExitStack() as stack:
        with reading(path):
            file = stack.enter_context(open(path, "rb"))
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with parsing(path, "not a complete ONNX file"):
            description, stored = "", {}
            for field, value in protobuf.fields(content, 0, len(content)):
                if field == _METADATA:
                    entry = dict(protobuf.fields(content, value.start, value.stop))
                    if content[entry[_KEY]] == ATTRIBUTE.encode():
                        description = content[entry[_VALUE]].decode()
                elif field == _GRAPH:
                    for inner, tensor in protobuf.fields(content, value.start, value.stop):
                        array = _array(path, content, tensor) if inner == _INITIALIZER else None
                        if array is not None:
                            stored[array.name] = array
        if not description:
            raise CgruError(f"{path}: an ONNX model that cgru did not write")
        if len(stored) > MOST_ARRAYS:
            raise CgruError(f"{path}: {len(stored)} arrays; a model has at most {MOST_ARRAYS}")
        yield _joined(path, stored), description


def _joined(path: Path, stored: dict[str, StoredArray]) -> dict[str, StoredArray]:
    """The arrays, with the integers and the scale of a matrix as one, whose content is `Integers`.

    The scale is (1,M), of each column, or (N,1), of each row.
    """
    result = {name: array for name, array in stored.items() if "/" not in name}
    for name, integers in stored.items():
        if not name.endswith(INTEGERS):
            continue
        name = name.removesuffix(INTEGERS)
        scale = stored.get(f"{name}{SCALE}")
        shape = integers.shape
        if scale is None or scale.shape not in ((1, *shape[1:]), (*shape[:1], 1)):
            raise CgruError(f"{path}: array {name}: the scale of its integers is damaged")

        def read(integers: StoredArray = integers, scale: StoredArray = scale) -> Any:
            axis = 1 if scale.shape[0] == 1 else 0
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
    part = name.endswith((INTEGERS, SCALE))
    if ("/" in name and not part) or raw is None or dtype is None:
        return None
    if len(shape) > 4 or int(np.prod(shape, dtype=object)) * dtype.itemsize != raw.stop - raw.start:
        stored = f"{raw.stop - raw.start} bytes are stored"
        raise CgruError(f"{path}: array {name}: {tuple(shape)} of {dtype}, but {stored}")

    def read() -> np.ndarray:
        return np.frombuffer(content[raw], dtype).reshape(shape)

    return StoredArray(name, tuple(shape), dtype, read)
