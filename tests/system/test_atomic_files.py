"""Files that are written completely or not at all, alone and together."""

import contextlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from devices import FULL, NULL, device, is_device

from cgru_cli.errors import CgruError, OutputClosed
from cgru_cli.system.atomic_files import all_or_nothing, atomic_write, check_whole, put
from cgru_cli.system.line_writer import LineWriter


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


def test_an_older_mark_stays_after_a_change_that_was_undone(tmp_path, monkeypatch):
    from cgru_cli.system import atomic_files

    whole, side, mark = tmp_path / "b", tmp_path / "a", tmp_path / "b.incomplete"
    for path in (whole, side):
        path.write_bytes(b"old")
    replaced = atomic_files.os.replace

    def replace(source, target):
        if target == whole and source.read_bytes() == b"new":
            raise OSError(5, "Input/output error")
        replaced(source, target)

    def fail():
        with pytest.raises(CgruError, match="Input/output"), all_or_nothing(whole):
            write(side, b"new")
            write(whole, b"new")
            monkeypatch.setattr(atomic_files.os, "replace", replace)
        monkeypatch.undo()
        assert (side.read_bytes(), whole.read_bytes()) == (b"old", b"old")

    fail()
    assert not mark.exists()
    mark.touch()
    fail()
    assert mark.exists()


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


def test_a_device_is_written_to_and_stays_one(tmp_path):
    null, full, link = device(tmp_path / "null", NULL), tmp_path / "full", tmp_path / "link"
    device(full, FULL)
    link.symlink_to("full")
    write(null, b"new")
    for path in (full, link):
        with pytest.raises(CgruError, match=f"{path.name}: cannot be written: No space left"):
            write(path, b"new")
    with all_or_nothing(tmp_path / "null"):
        write(null, b"new")
    assert is_device(null) and is_device(full) and link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [full, link, null]
    with pytest.raises(CgruError, match="null: is not a regular file"):
        put(tmp_path / "new", null)


def test_a_pipe_gets_the_whole_content_or_nothing(tmp_path):
    pipe = tmp_path / "pipe.gz"  # its name does not compress it
    os.mkfifo(pipe)
    for content in (b"a" * 3_000_000, b""):
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(pipe.read_bytes)
            with contextlib.suppress(ValueError), atomic_write(pipe) as file:
                file.write(b"b" * len(content) or b"half")
                file.seek(0)
                file.write(content)
                if not content:
                    raise ValueError
            assert read.result() == content
    assert pipe.is_fifo()


def test_a_reader_that_leaves_ends_the_output(tmp_path):
    readable, writable = os.pipe()
    os.close(readable)
    try:
        with pytest.raises(OutputClosed):
            write(f"/dev/fd/{writable}", b"new")
    finally:
        os.close(writable)


def test_an_open_file_keeps_what_others_wrote(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    with open(path, "wb", buffering=0) as file:
        link.symlink_to(f"/dev/fd/{file.fileno()}")
        file.write(b"one\n")
        write(f"/dev/fd/{file.fileno()}", b"two\n")
        write(link, b"three\n")
        with LineWriter(f"/proc/self/fd/{file.fileno()}") as writer:
            writer.write("four\n")
        file.write(b"five\n")
        number = file.fileno()
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\nfive\n"
    with pytest.raises(CgruError, match=f"/dev/fd/{number}: cannot be written: Bad file"):
        write(f"/dev/fd/{number}", b"six\n")


def test_standard_output_by_its_name(tmp_path):
    code = (
        "from cgru_cli.system.atomic_files import atomic_write\n"
        "with atomic_write('/dev/stdout') as file: file.write(b'new\\n')"
    )
    path = tmp_path / "out"
    with open(path, "wb", buffering=0) as file:
        file.write(b"old\n")
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert path.read_bytes() == b"old\nnew\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"new\n"


def test_a_folder_is_refused_before_the_content_is_made(tmp_path):
    with (
        pytest.raises(CgruError, match="cannot be written: Is a directory"),
        atomic_write(tmp_path),
    ):
        raise AssertionError


def test_links_remain_when_several_files_change(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "a").symlink_to(other / "a")
    (tmp_path / "new").write_bytes(b"new")
    with all_or_nothing(tmp_path / "a"):
        put(tmp_path / "new", tmp_path / "a")
    assert (tmp_path / "a").is_symlink() and (other / "a").read_bytes() == b"new"


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_a_link_may_lead_to_another_file_system(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        (tmp_path / "a").symlink_to(f"{other}/a")
        (tmp_path / "new").write_bytes(b"new")
        put(tmp_path / "new", tmp_path / "a")
        assert (tmp_path / "a").is_symlink()
        assert [path.name for path in Path(other).iterdir()] == ["a"]
        assert not (tmp_path / "new").exists()
