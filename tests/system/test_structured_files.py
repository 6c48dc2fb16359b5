"""Files as a whole: their hashes."""

import hashlib

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.system.structured_files import sha256


def test_hashes(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"abc")
    # FIPS 180-2, B.1
    assert sha256(path).startswith("ba7816bf8f01cfea414140de5dae2223")
    path.write_bytes(bytes(3_000_000))
    assert sha256(str(path)) == hashlib.sha256(bytes(3_000_000)).hexdigest()
    with pytest.raises(CgruError, match=r"missing: No such file"):
        sha256(tmp_path / "missing")
    with pytest.raises(CgruError, match=r": Is a directory"):
        sha256(tmp_path)
