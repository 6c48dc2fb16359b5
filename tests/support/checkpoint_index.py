"""Modify the index of a TensorFlow checkpoint and correct its checksums."""

import random
import struct


def _varint(content, place):
    value = shift = 0
    while True:
        byte = content[place]
        place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, place


def crc32c(data):
    """Castagnoli's checksum, computed bit by bit from its polynomial (RFC 3720)."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def blocks(content):
    """Start and size of every block of a LevelDB table: filters, index, then data."""
    footer, place = content[-48:], 0
    found = []
    for _ in range(2):
        start, place = _varint(footer, place)
        size, place = _varint(footer, place)
        found.append((start, size))
    start, size = found[1]
    block = content[start : start + size]
    place, end = 0, size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    while place < end:
        _, place = _varint(block, place)
        own, place = _varint(block, place)
        length, place = _varint(block, place)
        first, after = _varint(block, place + own)
        found.append((first, _varint(block, after)[0]))
        place += own + length
    return found


def changed(content: bytes, chance: random.Random) -> bytes:
    """Change some bytes of its blocks, and update the checksums."""
    places = blocks(content)
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        start, size = chance.choice(places)
        place = start + chance.randrange(size + 1)
        data[place] = chance.choice((data[place] ^ 1 << chance.randrange(8), 0, 127, 128, 255))
    for start, size in places:
        end = start + size + 1
        checksum = crc32c(data[start:end])
        masked = (checksum >> 15 | checksum << 17) + 0xA282EAD8
        data[end : end + 4] = struct.pack("<I", masked & 0xFFFFFFFF)
    return bytes(data)
