"""Standard output whose disk is full, or which is closed, in this process."""

import io
import os
import sys

import pytest

from cgru_cli.errors import CgruError, OutputClosed
from cgru_cli.system.standard_output import checked


@pytest.fixture
def stdout(monkeypatch):
    def set_to(stream):
        monkeypatch.setattr(sys, "stdout", stream)
        return stream

    return set_to


def test_printed_text_is_written_at_once(stdout, tmp_path):
    with open(tmp_path / "out", "w") as file:
        stdout(file)
        with checked():
            print("\u00e4\ud800", end="")  # the second one is a lone surrogate
            assert (tmp_path / "out").read_bytes() == "\u00e4?".encode()
        assert sys.stdout is file


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(stdout):
    with open("/dev/full", "w") as file:
        stdout(file)
        with checked(), pytest.raises(CgruError, match="standard output: cannot be written: No sp"):
            print("x")


def test_closed_output_matters_only_if_something_is_printed(stdout):
    stdout(None)
    with checked():
        sys.stdout.flush()
        with pytest.raises(CgruError, match="standard output is closed"):
            print("x")


def test_reader_has_gone(stdout):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        stdout(pipe)
        with checked(), pytest.raises(OutputClosed):
            print("x")


def test_pipe_that_is_full_for_a_while(stdout):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "x" * 300_000
    if os.fork() == 0:
        os.close(writer)
        read = 0
        while data := os.read(reader, 4096):
            read += len(data)
        os._exit(read != len(text))
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        stdout(pipe)
        with checked():
            print(text, end="")
    assert os.wait()[1] == 0


def test_streams_without_bytes(stdout):
    told = stdout(io.StringIO())
    with checked():
        print("x\u00e4")
    assert told.getvalue() == "x\u00e4\n"
