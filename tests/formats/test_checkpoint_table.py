"""The index of a TensorFlow checkpoint, read as TensorFlow reads it."""

import random

import checkpoint_index
import numpy as np
import pytest
from tables import each_row

from cgru_cli.formats.checkpoint_table import read_table, table
from cgru_cli.formats.crc32c import crc32c
from cgru_cli.formats.protobuf import read_varint, varint
from cgru_cli.formats.tensorflow_checkpoint import write_checkpoint


def test_a_table_is_read_back():
    messages = {b"": b"\x08\x01", b"a/b": bytes(300), b"a/c": b"", "ö".encode(): b"x"}
    content = table(messages)
    assert {name.encode(): message for name, message in read_table(content).items()} == messages
    for damaged in (content[:-1], content[1:], content.replace(b"a/b", b"a/d"), b""):
        with pytest.raises((ValueError, IndexError)):
            read_table(damaged)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**63 - 1])
def test_whole_numbers(value):
    assert read_varint(b"?" + varint(value) + b"?", 1) == (value, 1 + len(varint(value)))
    with pytest.raises((ValueError, IndexError)):
        read_varint(varint(value << 32 | 1 << 63), 0)


def test_checksum_of_rfc_3720():
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


@each_row("size", [1, 5, 4095, 4096, 4097, 8191, 8192, 12293])
def test_checksum_of_long_content(size):
    data = random.Random(size).randbytes(size)
    assert crc32c(data) == checkpoint_index.crc32c(data)


def test_sound_checksums_are_those_of_tensorflow(tmp_path):
    write_checkpoint(tmp_path / "m", {"a": np.ones(3, "f4")})
    whole = (tmp_path / "m.index").read_bytes()

    class Same(random.Random):
        def choice(self, options):
            return options[0]

        def randrange(self, end):
            return 0

    once = checkpoint_index.changed(whole, Same())
    assert once != whole and checkpoint_index.changed(once, Same()) == whole  # one bit, and back
