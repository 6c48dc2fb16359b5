"""Files that are written completely or not at all, alone and together."""

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.system.atomic_files import all_or_nothing, atomic_write, check_whole


def write(path, content):
    with atomic_write(path) as file:
        file.write(content)


def test_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ValueError), atomic_write(path) as file:
        file.write(b"half")
        raise ValueError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_change_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")
    with all_or_nothing(tmp_path / "b"):
        write(first, b"new")
        assert first.read_bytes() == b"old"
        write(second, b"new")
    assert first.read_bytes() == second.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_failure_changes_no_file(tmp_path):
    first = tmp_path / "a"
    first.write_bytes(b"old")
    with pytest.raises(CgruError), all_or_nothing(tmp_path / "b"):
        write(first, b"new")
        write(tmp_path / "no folder" / "b", b"new")
    assert first.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [first]


@pytest.mark.parametrize("keep_same", [False, True])
def test_unchanged_file_may_stay(tmp_path, keep_same):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"same")
    second.write_bytes(b"old")
    before = first.stat().st_ino
    with all_or_nothing(second, keep_same=keep_same):
        write(first, b"same")
        write(second, b"new")
    assert (first.stat().st_ino == before) == keep_same
    assert (first.read_bytes(), second.read_bytes()) == (b"same", b"new")
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_mark_of_an_interrupted_change_stays_until_all_files_are_written(tmp_path):
    whole, mark = tmp_path / "b", tmp_path / "b.incomplete"
    check_whole(whole)
    mark.touch()
    with pytest.raises(CgruError, match=r"b: writing it was interrupted.*b\.incomplete"):
        check_whole(whole)
    with pytest.raises(CgruError), all_or_nothing(whole):
        write(tmp_path / "a", b"new")
        write(tmp_path / "no folder" / "b", b"new")
    assert mark.exists()
    with all_or_nothing(whole):
        write(whole, b"new")
    check_whole(whole)
    assert list(tmp_path.iterdir()) == [whole]


def test_mark_stays_if_files_cannot_be_restored(tmp_path, monkeypatch):
    """A signal comes after a change, and the file system fails to undo it."""
    whole, side = tmp_path / "b", tmp_path / "a"
    whole.write_bytes(b"old")
    side.write_bytes(b"old")
    calls = []

    def replace(source, target):
        calls.append(target)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        replaced(source, target)

    from cgru_cli.system import atomic_files

    replaced = atomic_files.os.replace
    with pytest.raises(CgruError, match="Input/output"), all_or_nothing(whole):
        write(side, b"new")
        write(whole, b"new")
        monkeypatch.setattr(atomic_files.os, "replace", replace)
    monkeypatch.undo()
    assert calls == [side, whole, whole, side]
    with pytest.raises(CgruError, match="interrupted"):
        check_whole(whole)
