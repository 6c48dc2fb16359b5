"""Cleaning: each filter by itself, in order, and duplicates against a plain set."""

import io
import os
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.options.prep import PrepOptions
from cgru_cli.prep.chunk_work import digest
from cgru_cli.prep.clean import Duplicates
from cgru_cli.prep.pair_filters import (
    FILTERS,
    reject_lengths,
    reject_raw,
    reject_text,
    summary,
)

OFF = PrepOptions(
    keep_invalid=True, keep_control=True, keep_empty=True, keep_identical=True,
    max_characters=0, max_length=0, max_ratio=0.0,
)  # fmt: skip


def reason(options, source, target):
    return (
        reject_raw(options, source, target)
        or reject_text(options, source, target)
        or reject_lengths(options, len(source.split()), len(target.split()))
    )


@each_row(
    ("switch", "source", "target", "found"),
    [
        ({"keep_empty": False}, "", "b", "empty"),
        ({"keep_empty": False}, "a", "", "empty"),
        ({"keep_identical": False}, "a b", "a b", "identical"),
        ({"keep_control": False}, "a\x01", "b", "control"),
        ({"keep_control": False}, "a", "b\x85", "control"),
        ({"max_characters": 3}, "a", "abcd", "characters"),
        ({"max_length": 2}, "a b c", "a b", "length"),
        ({"max_ratio": 2.0}, "a b c", "d", "ratio"),
        ({"max_ratio": 1.5}, "d e", "a b c d", "ratio"),
    ],
)
def test_each_filter_has_its_switch(switch, source, target, found):
    assert reason(replace(OFF, **switch), source, target) == found
    assert reason(OFF, source, target) is None
    assert found in FILTERS


@pytest.mark.parametrize(
    ("switch", "source", "target"),
    [
        ({"keep_control": False}, "a\tb", "b\r"),  # a tab is a space, a \r an old line end
        ({"max_characters": 4}, "a", "abcd"),
        ({"max_length": 3}, "a b c", "d"),
        ({"max_ratio": 3.0}, "a b c", "d"),
        ({"max_ratio": 2.0}, "a b c d", ""),
    ],
)
def test_pairs_at_the_limits_stay(switch, source, target):
    assert reason(replace(OFF, **switch), source, target) is None


def test_invalid_text_is_removed_or_kept():
    assert reject_raw(PrepOptions(), None, "a") == "invalid"
    assert reject_raw(PrepOptions(), "a", None) == "invalid"
    assert reject_raw(OFF, None, "a") is None


@settings(max_examples=20)  # each makes 64 files
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["", "x", "y z"]))))
def test_duplicates_are_those_of_a_set(pairs):
    with tempfile.TemporaryDirectory() as folder:
        duplicates = Duplicates(Path(folder))
        duplicates.add(digest(*pair) for pair in pairs[:3])
        duplicates.add(digest(*pair) for pair in pairs[3:])
        first = duplicates.first()
    seen = set()
    for number, pair in enumerate(pairs):
        assert first[number] == (pair not in seen)
        seen.add(pair)


def test_digests_depend_on_the_side():
    assert digest("a b", "c") != digest("a", "b c")
    assert digest("a", "b") != digest("b", "a")


def test_many_duplicates_are_written_to_disk(tmp_path):
    duplicates = Duplicates(tmp_path)
    duplicates.add(digest(str(i % 80_000), "") for i in range(100_000))
    sizes = [os.fstat(file.fileno()).st_size for file in duplicates._files]
    assert sum(sizes) > 100_000 * 24 - 64 * io.DEFAULT_BUFFER_SIZE  # the rest is in buffers
    first = duplicates.first()
    assert first[:80_000].all() and not first[80_000:].any()
    assert not list(tmp_path.iterdir())


def test_summary_counts_by_filter():
    assert summary(Counter()) == ""
    removed = Counter(length=1200, empty=2)
    assert summary(removed) == "2 with an empty side, 1,200 with too many words"
