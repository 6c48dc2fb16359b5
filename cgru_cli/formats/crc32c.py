"""CRC-32C, the checksum in TensorFlow's checkpoints (RFC 3720, with its bits reversed)."""

import functools

import numpy as np

_POLYNOMIAL = 0x82F63B78
_DOUBLINGS = 12
_ROW = 2**_DOUBLINGS  # bytes


def crc32c(data: bytes) -> int:
    """The checksum of all bytes.

    The register after a row of zeros is a linear function of the register before it. Therefore all
    words of a row move past the next row at once, and the final row has the checksum of all rows.
    """
    short = len(data) % _ROW
    register = _bytewise(0xFFFFFFFF, data[:short])
    if short < len(data):
        rows = np.frombuffer(data, "<u4", offset=short).reshape(-1, _ROW // 4)
        words = rows[0].copy()
        words[0] ^= register
        tables = _row_tables()
        for row in rows[1:]:
            words = _looked_up(tables, words) ^ row
        register = _bytewise(0, words.tobytes())
    return register ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> bytes:
    """The checksum as TensorFlow stores it: rotated, with a constant added, in four bytes."""
    checksum = crc32c(data)
    masked = (checksum >> 15 | checksum << 17) + 0xA282EAD8
    return (masked & 0xFFFFFFFF).to_bytes(4, "little")


def _bytewise(register: int, data: bytes) -> int:
    table = _byte_table()
    for byte in data:
        register = table[(register ^ byte) & 0xFF] ^ register >> 8
    return register


@functools.cache
def _byte_table() -> list[int]:
    """The register after each byte."""
    table = []
    for register in range(256):
        for _ in range(8):
            register = register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)
        table.append(register)
    return table


@functools.cache
def _row_tables() -> np.ndarray:
    """The register after a row of zeros, for each value of each of its bytes: (4, 256) uint32."""
    registers = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    tables = np.array(_byte_table(), np.uint32)[registers & 0xFF] ^ registers >> 8
    for _ in range(_DOUBLINGS):
        tables = _looked_up(tables, tables)
    return tables


def _looked_up(tables: np.ndarray, words: np.ndarray) -> np.ndarray:
    after = tables[0][words & 0xFF]
    for i in (1, 2, 3):
        after = after ^ tables[i][words >> 8 * i & 0xFF]
    return after
