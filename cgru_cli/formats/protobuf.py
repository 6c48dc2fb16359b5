"""Read and write Protocol Buffers messages, as untrusted input, without schemas.

A message is a sequence of numbered fields; a value is an integer or bytes. Integers have seven bits
per byte, lowest bits first.
"""

from collections.abc import Iterator
from mmap import mmap
from typing import Any

_INTEGER, _BYTES = 0, 2  # how a field is stored
_SIZES = {1: 8, 5: 4}  # bytes of a field of another type


def fields(content: bytes | mmap, place: int, end: int) -> Iterator[tuple[int, Any]]:
    """The fields of a message from `place` to `end`: numbers, and integers or places of bytes.

    Raises ValueError or IndexError for a damaged message.
    """
    while place < end:
        key, place = read_varint(content, place)
        field, kind = key >> 3, key & 7
        if kind == _INTEGER:
            value, place = read_varint(content, place)
            yield field, value
            continue
        size = _SIZES.get(kind)
        if kind == _BYTES:
            size, place = read_varint(content, place)
        if size is None or place + size > end:
            raise ValueError(f"field {field} at byte {place} is damaged")
        yield field, slice(place, place + size)
        place += size


def read_varint(content: bytes | mmap, place: int) -> tuple[int, int]:
    """The integer at a place, and the place after it. Raises ValueError or IndexError."""
    value = 0
    for shift in range(0, 64, 7):
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value < 1 << 63:
            return value, place
    raise ValueError(f"the integer before byte {place} is negative or far too large")


def varint(value: int) -> bytes:
    """The inverse of `read_varint`."""
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def number(field: int, value: int) -> bytes:
    """A field with an integer of 64 bits, which may be negative."""
    return varint(field << 3 | _INTEGER) + varint(value & 2**64 - 1)


def message(field: int, content: bytes) -> bytes:
    """A field with bytes, such as a message in a message."""
    return head(field, len(content)) + content


def head(field: int, size: int) -> bytes:
    """The start of a field of so many bytes."""
    return varint(field << 3 | _BYTES) + varint(size)
