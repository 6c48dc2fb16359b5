"""Read and write Nematus-TF checkpoints, `model-1500.index` and `.data-00000-of-00001`.

The index maps names to messages `BundleEntryProto`, and the empty name to a `BundleHeaderProto`
(TensorFlow's tensor_bundle.proto). This module needs no TensorFlow, and does not trust the files.
"""

import math
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, parsing
from ..system.atomic_files import atomic_write
from ..system.structured_files import read_bytes
from .array_files import StoredArray
from .checkpoint_table import read_table, table
from .crc32c import masked_crc32c
from .protobuf import fields, message, number, varint

INDEX = ".index"
DATA = ".data-00000-of-00001"
UPDATES = "time"  # the number of updates, a variable that Nematus-TF's Saver requires
LARGEST_INDEX = 16 << 20  # bytes; the index of a deep model has about 20,000
_DAMAGED = "not a complete TensorFlow checkpoint"
_MOST_FILES = 100
_MOST_AXES = 8
_FLOAT = 1
# NumPy's names of the types in TensorFlow's types.proto; NumPy has no text and bfloat16.
_TYPES = {_FLOAT: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?"}
_TYPES |= {17: "<u2", 19: "<f2", 22: "<u4", 23: "<u8"}


def open_checkpoint(prefix: Path) -> dict[str, StoredArray]:
    """Arrays by variable name, each read and compared with its checksum on demand.

    Raises CgruError, naming checkpoint and array, for damaged or missing parts.
    """
    index = prefix.with_name(f"{prefix.name}{INDEX}")
    content = read_bytes(index, "index of a TensorFlow checkpoint", LARGEST_INDEX)
    stored = {}
    with parsing(prefix, _DAMAGED):
        entries = read_table(content)
        header = _Fields(entries.pop("", b""))
        count = header.number(1)
        if not 1 <= count <= _MOST_FILES or header.number(2):
            raise ValueError(f"{count} files, of byte order {header.number(2)}")
        names = [f"{prefix.name}.data-{i:05}-of-{count:05}" for i in range(count)]
        files = [prefix.with_name(name) for name in names]
        for file in files:
            if not file.is_file() or not file.stat().st_size:
                raise CgruError(f"{file}: no such file, or an empty one, but {index.name} needs it")
        for name, entry in entries.items():
            with parsing(f"{prefix}: array {name}", _DAMAGED):
                stored[name] = _stored(prefix, name, _Fields(entry), files)
    return stored


class _Fields(dict[int, list[Any]]):
    """The fields of a protocol buffer's message by number; each value is a number or bytes."""

    def __init__(self, message: bytes):
        """Raises ValueError, IndexError or TypeError for a damaged message."""
        super().__init__()
        for field, value in fields(message, 0, len(message)):
            value = message[value] if isinstance(value, slice) else value
            self.setdefault(field, []).append(value)

    def number(self, field: int) -> int:
        return operator.index(self.get(field, [0])[-1])

    def messages(self, field: int) -> list["_Fields"]:
        return [_Fields(value) for value in self.get(field, [])]


def _stored(prefix: Path, name: str, entry: _Fields, files: list[Path]) -> StoredArray:
    """The array that a `BundleEntryProto` declares. Raises ValueError if it cannot exist."""
    kind, shard, start, size = (entry.number(field) for field in (1, 3, 4, 5))
    dimensions = [dimension for shape in entry.messages(2) for dimension in shape.messages(2)]
    shape = tuple(dimension.number(1) for dimension in dimensions)
    if 7 in entry:
        raise ValueError("it is stored in slices, which are not read")
    if shard >= len(files) or start + size > files[shard].stat().st_size:
        raise ValueError("it extends beyond the end of its file")
    dtype = np.dtype(_TYPES.get(kind, object))
    fits = len(shape) <= _MOST_AXES and max(shape, default=0) <= size
    if not fits or (kind in _TYPES and math.prod(shape) * dtype.itemsize != size):
        raise ValueError(f"{size} bytes are stored, which do not fit shape {shape[:9]}")

    def read() -> np.ndarray:
        if kind not in _TYPES:
            raise CgruError(
                f"{prefix}: array {name}: has TensorFlow's type {kind}; models hold numbers"
            )
        with parsing(f"{prefix}: array {name}", _DAMAGED):
            with open(files[shard], "rb") as file:
                file.seek(start)
                content = file.read(size)
            if [masked_crc32c(content)] != entry.get(6):
                raise ValueError("its checksum differs")
            return np.frombuffer(content, dtype).reshape(shape)

    return StoredArray(name, shape, dtype, read)


def write_checkpoint(prefix: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint in float32 that Nematus-TF's `tf.train.Saver` restores.

    The index, which makes it a checkpoint, is written last. Raises CgruError if the files cannot be
    written.
    """
    # the header: one data file, format version 1
    messages = {b"": number(1, 1) + message(3, number(1, 1))}
    place = 0
    with atomic_write(f"{prefix}{DATA}") as data:
        for name, array in {**arrays, UPDATES: np.array(0)}.items():
            numbers = np.asarray(array, "<f4")
            content = numbers.tobytes()
            shape = b"".join(message(2, number(1, size)) for size in numbers.shape)
            messages[name.encode()] = (
                number(1, _FLOAT)
                + message(2, shape)
                + number(4, place)
                + number(5, len(content))
                + varint(6 << 3 | 5)
                + masked_crc32c(content)
            )
            data.write(content)
            place += len(content)
    with atomic_write(f"{prefix}{INDEX}") as index:
        index.write(table(messages))
