"""The `.index` of a TensorFlow checkpoint, read without TensorFlow and without trust.

TensorFlow ends the process where an index with sound checksums declares what cannot be, such as a
negative size. The file is a table of LevelDB (its table_format.md) from names to messages
`BundleEntryProto`, under the empty name a `BundleHeaderProto` (TensorFlow's tensor_bundle.proto).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import CgruError, parsing
from ..system.structured_files import read_bytes
from .array_files import MOST_ARRAYS

DAMAGED = "not a complete TensorFlow checkpoint"
LARGEST = 16 << 20  # bytes of an index; that of a deep model has some 20,000
_LONGEST_NAME = 1000
_FOOTER, _TRAILER = 48, 5  # of the file, of a block: a byte for its compression, and a checksum
_MAGIC = bytes.fromhex("57fb808b247547db")
# Bytes of a number by its type in TensorFlow's types.proto; text has none.
_BYTES = {1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 9: 8, 10: 1, 14: 2, 17: 2, 19: 2, 22: 4, 23: 8}
_TEXT = 7
# The fields of each message by number, and how protocol buffers encode them: 0 as a whole number, 2
# as bytes, 5 as four bytes. TensorFlow ends the process where one is of another kind.
_HEADER, _VERSION = {1: 0, 2: 0, 3: 2}, {1: 0, 2: 0}
_ENTRY = {1: 0, 2: 2, 3: 0, 4: 0, 5: 0, 6: 5}  # 7, its slices, is for arrays kept in several
_SHAPE, _DIMENSION = {2: 2}, {1: 0}


class StoredTensor(NamedTuple):
    """An array as the index declares it; is_text: it holds no numbers."""

    shape: tuple[int, ...]
    is_text: bool


def read_index(prefix: Path) -> dict[str, StoredTensor]:
    """The arrays of a checkpoint by name, all of whose bytes the files beside the index have.

    Raises CgruError naming the checkpoint, and the array where one cannot be as it is declared.
    """
    path = prefix.with_name(f"{prefix.name}.index")
    content = read_bytes(path, "index of a TensorFlow checkpoint", LARGEST)
    with parsing(prefix, DAMAGED):
        entries = dict(_entries(content))
        header = _fields(entries.pop("", b""), _HEADER)
        _fields(_message(header, 3), _VERSION)
        shards = _integer(header, 1)
        if not 1 <= shards <= 100:
            raise ValueError(f"{shards} files")
        sizes = []
        for shard in range(shards):
            data = prefix.with_name(f"{prefix.name}.data-{shard:05}-of-{shards:05}")
            if not data.is_file():
                raise CgruError(f"{data}: no such file, but {path.name} needs it")
            sizes.append(data.stat().st_size)
        tensors = {}
        for name, entry in entries.items():
            with parsing(f"{prefix}: array {name}", DAMAGED):
                tensors[name] = _tensor(entry, sizes)
    return tensors


def _tensor(entry: bytes, sizes: list[int]) -> StoredTensor:
    """A `BundleEntryProto`; sizes: bytes of the data files. Raises ValueError."""
    fields = _fields(entry, _ENTRY)
    kind, shard = _integer(fields, 1), _integer(fields, 3)
    start, size = _integer(fields, 4), _integer(fields, 5)
    dimensions = _fields(_message(fields, 2), _SHAPE).get(2, ())
    shape = [_integer(_fields(d, _DIMENSION), 1) for d in dimensions if isinstance(d, bytes)]
    if kind not in _BYTES and kind != _TEXT:
        raise ValueError(f"it is of type {kind}")
    if shard >= len(sizes) or start + size > sizes[shard]:
        raise ValueError("it ends behind the files that hold it")
    count = math.prod(shape)
    if (
        max(shape, default=0) > size
        or count > size
        or (kind in _BYTES and count * _BYTES[kind] != size)
    ):
        raise ValueError(f"{size} bytes of it are stored, which shape {tuple(shape)} does not fit")
    return StoredTensor(tuple(shape), kind == _TEXT)


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and values of a table, in their order. Raises ValueError, IndexError."""
    if len(content) < _FOOTER or content[-len(_MAGIC) :] != _MAGIC:
        raise ValueError("it does not end as one")
    footer = content[-_FOOTER:]
    _, place = _handle(footer, 0)  # of filters, which there are none of
    index, _ = _handle(footer, place)
    before, count = None, 0
    for _, value in _block(content, *index):
        for key, entry in _block(content, *_handle(value, 0)[0]):
            if before is not None and key <= before:
                raise ValueError("its names are not in order")
            before = key
            count += 1
            if count > MOST_ARRAYS:
                raise ValueError(f"it has more than {MOST_ARRAYS} arrays")
            yield key.decode("utf-8"), entry


def _block(content: bytes, start: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys, each said as what differs from the one before, and values of a block."""
    if start + size + _TRAILER > len(content) - _FOOTER or size < 4:
        raise ValueError("it is cut short")
    if content[start + size]:
        raise ValueError("it is compressed")
    block = content[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end = size - 4 - 4 * restarts
    key, place = b"", 0
    while place < end:
        shared, place = _varint(block, place)
        own, place = _varint(block, place)
        length, place = _varint(block, place)
        if shared > len(key) or place + own + length > end or shared + own > _LONGEST_NAME:
            raise ValueError("a name in it is damaged")
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + length]
        place += length
    if place != end:
        raise ValueError("a block of it is damaged")


def _handle(content: bytes, place: int) -> tuple[tuple[int, int], int]:
    """Start and size of a block, and where they end."""
    start, place = _varint(content, place)
    size, place = _varint(content, place)
    return (start, size), place


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ValueError("a number in it is too long")
    if value >= 1 << 63:
        raise ValueError("a number in it is negative, or far too large")
    return value, place


def _fields(message: bytes, known: Mapping[int, int]) -> dict[int, list[int | bytes]]:
    """A protocol buffer's fields by number, in their order. Raises ValueError, IndexError."""
    fields: dict[int, list[int | bytes]] = {}
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if known.get(number) != kind:
            raise ValueError(f"field {number} is not one of it")
        value: int | bytes
        if kind == 0:
            value, place = _varint(message, place)
        else:
            length = 4
            if kind == 2:
                length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("a message in it is cut short")
            value = message[place : place + length]
            place += length
        fields.setdefault(number, []).append(value)
    return fields


def _integer(fields: dict[int, list[int | bytes]], number: int) -> int:
    """A field that is there once, or 0. Raises ValueError."""
    values = fields.get(number, [0])
    if len(values) != 1 or not isinstance(values[0], int):
        raise ValueError("a number in it is damaged")
    return values[0]


def _message(fields: dict[int, list[int | bytes]], number: int) -> bytes:
    """A field that is a message, there once or empty. Raises ValueError."""
    values = fields.get(number, [b""])
    if len(values) != 1 or not isinstance(values[0], bytes):
        raise ValueError("a message in it is damaged")
    return values[0]
