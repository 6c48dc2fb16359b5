"""The `.index` of a TensorFlow checkpoint: a table of LevelDB (its table_format.md).

A table maps names to messages. It has blocks of entries, then a list of these blocks; each block
has a checksum. An entry omits the beginning that its name shares with the previous name.
"""

from collections.abc import Iterator, Mapping, Sequence

from .array_files import MOST_ARRAYS
from .crc32c import masked_crc32c
from .protobuf import read_varint, varint

_LONGEST_NAME = 1000
_FOOTER, _TRAILER = 48, 5  # bytes of the file's footer; of a block's compression and checksum
_MAGIC = bytes.fromhex("57fb808b247547db")
_RESTARTS = (0).to_bytes(4, "little") + (1).to_bytes(4, "little")  # names are whole at place 0 only


def read_table(content: bytes) -> dict[str, bytes]:
    """Messages by name. Raises ValueError or IndexError for a damaged table."""
    footer = content[-_FOOTER:]
    if len(content) < _FOOTER or not footer.endswith(_MAGIC):
        raise ValueError("it does not end like a table")
    _, _, place = _handle(footer, 0)  # of filters
    start, size, _ = _handle(footer, place)
    found: dict[str, bytes] = {}
    before = None
    for _, handle in _block(content, start, size):
        for key, message in _block(content, *_handle(handle, 0)[:2]):
            if before is not None and key <= before:
                raise ValueError("its names are not in order")
            before = key
            found[key.decode("utf-8")] = message
            if len(found) > MOST_ARRAYS:
                raise ValueError(f"it has more than {MOST_ARRAYS} arrays")
    return found


def _block(content: bytes, start: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block."""
    block, trailer = content[start : start + size], content[start + size :][:_TRAILER]
    if start + size + _TRAILER > len(content) - _FOOTER or size < 4:
        raise ValueError("it is cut short")
    if trailer[0]:
        raise ValueError("it is compressed")
    if masked_crc32c(block + trailer[:1]) != trailer[1:]:
        raise ValueError("its checksum differs")
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    key, place = b"", 0
    while place < end:
        shared, place = read_varint(block, place)
        own, place = read_varint(block, place)
        length, place = read_varint(block, place)
        if shared > len(key) or place + own + length > end or shared + own > _LONGEST_NAME:
            raise ValueError("a name in it is damaged")
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + length]
        place += length
    if place != end:
        raise ValueError("a block of it is damaged")


def _handle(content: bytes, place: int) -> tuple[int, int, int]:
    """Start and size of a block, and the place after the handle."""
    start, place = read_varint(content, place)
    size, place = read_varint(content, place)
    return start, size, place


def table(messages: Mapping[bytes, bytes]) -> bytes:
    """A table of messages by name: their block, an empty block of filters, the list of blocks."""
    content, handle = _with_block(b"", sorted(messages.items()))
    content, filters = _with_block(content, [])
    content, blocks = _with_block(content, [(max(messages), handle)])
    return content + (filters + blocks).ljust(_FOOTER - len(_MAGIC), b"\0") + _MAGIC


def _with_block(content: bytes, entries: Sequence[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    """The content with another block appended, and the block's handle."""
    block = b""
    for key, value in entries:
        block += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    block += _RESTARTS
    handle = varint(len(content)) + varint(len(block))
    return content + block + b"\0" + masked_crc32c(block + b"\0"), handle
