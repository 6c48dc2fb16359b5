"""Files written whole or not at all, alone and together."""

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.system.atomic_files import all_or_nothing, atomic_write


def write(path, content):
    with atomic_write(path) as file:
        file.write(content)


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ValueError), atomic_write(path) as file:
        file.write(b"half")
        raise ValueError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_take_their_places_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")
    with all_or_nothing():
        write(first, b"new")
        assert first.read_bytes() == b"old"
        write(second, b"new")
    assert first.read_bytes() == second.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_or_none_does(tmp_path):
    first = tmp_path / "a"
    first.write_bytes(b"old")
    with pytest.raises(CgruError), all_or_nothing():
        write(first, b"new")
        write(tmp_path / "no folder" / "b", b"new")
    assert first.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [first]
