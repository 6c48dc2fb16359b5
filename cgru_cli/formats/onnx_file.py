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
from . import protobuf
from .array_files import MOST_ARRAYS, StoredArray

ATTRIBUTE = "cgru"  # the key of the description in the metadata
BEGIN, STEP, NARROW_STEP, SCORING_STEP = range(4)  # the values of the graph's input `task`
VERSION = 1  # of the graph's inputs, outputs and description
# Processors without VNNI add two products of an unsigned byte and a weight in 16 bits, which hold
# 2 * 255 * 64 = 32,640 and not twice 255 * 127.
LARGEST_WEIGHT = 64
# numbers of the fields to read, from onnx.proto
_GRAPH, _METADATA, _INITIALIZER = 7, 14, 5
_KEY, _VALUE = 1, 2
_DIMENSIONS, _TYPE, _NAME, _RAW, _OUTSIDE = 1, 2, 8, 9, 13
_TYPES: dict[int, np.dtype] = {1: np.dtype("<f4"), 10: np.dtype("<f2")}


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
        yield stored, description


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
    if "/" in name or raw is None or dtype is None:
        return None
    if len(shape) > 4 or int(np.prod(shape, dtype=object)) * dtype.itemsize != raw.stop - raw.start:
        stored = f"{raw.stop - raw.start} bytes are stored"
        raise CgruError(f"{path}: array {name}: {tuple(shape)} of {dtype}, but {stored}")

    def read() -> np.ndarray:
        return np.frombuffer(content[raw], dtype).reshape(shape)

    return StoredArray(name, tuple(shape), dtype, read)
