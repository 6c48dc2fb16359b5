"""A log file: a copy of standard error."""

import os
import sys

import pytest
from devices import FULL, device, is_device

from cgru_cli.errors import CgruError
from cgru_cli.system.log_file import log_to
from cgru_cli.system.terminal import ProgressCounter, tell


def test_the_log_is_written_even_if_standard_error_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with log_to(str(tmp_path / "log"), "cgru score"):
        ProgressCounter("pairs", quiet=False).add(1)
        tell("done")
    assert "cgru: done\n" in (tmp_path / "log").read_text()


def test_a_full_disk_is_one_error_at_the_end(tmp_path, monkeypatch, capsys):
    full = device(tmp_path / "full", FULL)
    with (
        pytest.raises(CgruError, match="full: cannot be written: No space left"),
        log_to(str(full), "cgru score"),
    ):
        raise AssertionError("the first line already failed")
    assert is_device(full)
    path, write = str(tmp_path / "log"), os.write

    def fails(file, data):
        if b"cgru score" in bytes(data):
            return write(file, data)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fails)
    with (
        pytest.raises(CgruError, match="log: cannot be written: No space left"),
        log_to(path, "cgru score"),
    ):
        tell("goes on")
    assert "goes on" in capsys.readouterr().err
