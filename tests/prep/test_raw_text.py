"""Raw text: lines, chunks and pairs of any bytes."""

import gzip
import os
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.prep import raw_text

BOM = b"\xef\xbb\xbf"
PARTS = st.sampled_from([b"\n", b"\r", b"\x00", b"\x0b", b"\xff", b"\xc2\x85", BOM, b"a", b"bc "])
TEXTS = st.binary() | st.lists(PARTS).map(b"".join)


def expected(data):
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if lines and lines[0].startswith(BOM):
        lines[0] = lines[0][3:]
    return lines


@given(data=TEXTS, packed=st.booleans())
def test_lines_end_at_newlines_only(tmp_path_factory, data, packed):
    path = tmp_path_factory.getbasetemp() / ("lines.gz" if packed else "lines")
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    assert list(raw_text.read_lines(path)) == expected(data)


def chunked(lines, call):
    """With chunks of up to 3 lines and about 10 bytes."""
    with mock.patch.object(raw_text, "LINES", 3), mock.patch.object(raw_text, "BYTES", 10):
        return list(call(lines))


def is_full(sizes):
    return len(sizes) == 3 or sum(sizes) >= 10


@given(st.lists(st.binary(max_size=6)))
def test_chunks_are_full_but_not_larger(lines):
    chunks = chunked(lines, raw_text.chunks)
    assert [line for chunk in chunks for line in chunk] == lines
    for i, chunk in enumerate(chunks):
        sizes = [len(line) for line in chunk]
        assert sizes and not is_full(sizes[:-1])
        assert is_full(sizes) or i == len(chunks) - 1


@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4))))
def test_pairs_stay_together(pairs):
    texts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    chunks = chunked(texts, lambda texts: raw_text.pairs(*texts))
    assert [pair for chunk in chunks for pair in chunk] == pairs
    for i, chunk in enumerate(chunks):
        sizes = [len(source) + len(target) for source, target in chunk]
        assert sizes and not is_full(sizes[:-1])
        assert is_full(sizes) or i == len(chunks) - 1


@given(st.lists(st.binary(max_size=3), max_size=9), st.lists(st.binary(max_size=3), max_size=9))
def test_text_that_grew_is_an_error(sources, targets):
    if len(sources) == len(targets):
        sources = [*sources, b"more"]
    with pytest.raises(CgruError, match="a text changed while it was being read"):
        chunked((sources, targets), lambda texts: raw_text.pairs(*texts))


def test_nothing_is_read_ahead():
    def endless():
        while True:
            yield b"x" * raw_text.BYTES

    assert len(next(raw_text.chunks(endless()))) == 1
    assert len(next(raw_text.pairs(endless(), endless()))) == 1


def test_unreadable_files(tmp_path):
    missing = tmp_path / "missing"

    def read(path):
        return list(raw_text.read_lines(path))

    for call in (raw_text.check, read):
        with pytest.raises(CgruError, match=r"missing: No such file"):
            call(missing)
    with pytest.raises(CgruError, match=r": Is a directory"):
        read(tmp_path)


def test_only_files_can_be_read_twice(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"")
    assert raw_text.check(path) is None
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe", "/dev/null"):
        with pytest.raises(CgruError, match="not a regular file, and it is read more than once"):
            raw_text.check(other)
