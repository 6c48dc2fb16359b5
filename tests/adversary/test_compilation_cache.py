"""Truncated files of XLA's cache are removed before XLA crashes on them."""

import os
import pwd

import pytest

from cgru_cli.system import tensorflow_start

pytestmark = pytest.mark.long


# A number, a text, 8 bytes, a message of 300 bytes, 4 bytes.
WHOLE = b"\x08\xac\x02" + b"\x12\x03abc" + b"\x19" + bytes(8) + b"\x22\xac\x02" + bytes(300)
WHOLE += b"\x2d" + bytes(4)
ENDS = {3, 8, 17, len(WHOLE) - 5, len(WHOLE)}  # after complete fields


def test_every_truncation(tmp_path):
    path = tmp_path / "x.pb"
    for size in range(len(WHOLE) + 1):
        path.write_bytes(WHOLE[:size])
        assert tensorflow_start._is_complete(str(path)) == (size in ENDS)


@pytest.mark.parametrize("content", [b"\x0b", b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff"])
def test_a_file_that_is_not_a_message(tmp_path, content):
    (tmp_path / "x.pb").write_bytes(content)
    assert not tensorflow_start._is_complete(str(tmp_path / "x.pb"))


def test_a_user_without_a_home_has_no_cache(tmp_path, monkeypatch):
    """As in a container with --user 12345: there is no HOME and no entry in passwd."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    tensorflow_start._keep_compiled()
    assert not list(tmp_path.iterdir())
    assert not os.environ["TF_XLA_FLAGS"]


def test_only_truncated_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    folder = tmp_path / "cgru/xla"
    folder.mkdir(parents=True)
    (folder / "whole.pb").write_bytes(WHOLE)
    (folder / "cut.pb").write_bytes(WHOLE[:100])
    tensorflow_start._keep_compiled()
    assert [path.name for path in folder.iterdir()] == ["whole.pb"]
