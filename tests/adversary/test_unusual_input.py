"""Unusual input from outside: each ends with one line."""

import os

import pytest
from bombs import refused

from cgru_cli.formats.read_model import read
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.prep import raw_text


@pytest.mark.parametrize("reader", [read, read_vocabulary])
def test_a_pipe_without_a_writer(reader, tmp_path):
    os.mkfifo(tmp_path / "x.npz")
    assert "is a pipe, and it is read more than once" in refused(reader, tmp_path / "x.npz")


def test_a_text_whose_name_is_not_utf8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with open(path, "w"):
        pass
    assert "its name is not UTF-8" in refused(raw_text.check, path)
