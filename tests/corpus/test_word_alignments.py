"""Word alignments: lines to points, points of changed pairs, and invalid alignments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.corpus.word_alignments import cut, follow, from_end, parse
from cgru_cli.errors import CgruError


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 5))), st.randoms())
def test_points_come_back_sorted_and_once(points, draw):
    """In any order, some twice, with any spaces between; places 7 and 5 are EOS."""
    given_twice = [*points, *draw.sample(sorted(points), len(points) // 2)]
    draw.shuffle(given_twice)
    line = "  ".join(f"{i}-{j}" for i, j in given_twice) + " "
    assert parse(line, 7, 5) == sorted(points)


@each_row(
    ("line", "message"),
    [
        (
            "8-0",
            "8-0 points beyond the sentence: the source has 7 words, counted from 0, and EOS at 7",
        ),
        ("0-0 0-6", "0-6 points beyond the sentence: the target has 5 words"),
        ("99999999999999999999-0", "beyond the sentence"),
        ("0-0 1", "'1' is not an alignment; points like 0-0 1-2"),
        ("0-0\t1-1", "is not an alignment"),
        ("-1-0", "'-1-0' is not an alignment"),
        ("0--1", "is not an alignment"),
        ("0-1-2", "is not an alignment"),
        ("0p1", "is not an alignment"),
        ("1.0-0", "is not an alignment"),
        ("\u0660-0", "is not an alignment"),
        ("a-b", "is not an alignment"),
        ("0-0\r", "is not an alignment"),
    ],
)
def test_invalid_alignments_are_refused(line, message):
    with pytest.raises(CgruError, match=message):
        parse(line, 7, 5)


def test_an_empty_line_aligns_nothing():
    assert parse("", 3, 3) == parse(" ", 0, 0) == []
    assert parse("0-0", 0, 0) == [(0, 0)]  # EOS alone


def test_from_the_end():
    """By hand; reversing twice changes nothing."""
    points = [(0, 0), (2, 1), (2, 2), (4, 3)]  # of 3 target words and EOS
    assert from_end(points, 3) == [(0, 2), (2, 0), (2, 1), (4, 3)]
    assert from_end(from_end(points, 3), 3) == points
    assert from_end(points, 3, 4) == [(1, 0), (1, 1), (3, 2), (4, 3)]  # of 4 source words and EOS


def test_cut_by_hand():
    points = [(0, 0), (2, 1), (3, 2), (4, 2), (5, 3)]  # of 5 and 3 words, EOS last
    assert cut(points, 5, 3, 5) == points
    assert cut(points, 5, 3, 4) == [(0, 0), (2, 1), (3, 2)]
    assert cut(points, 5, 3, 3) == [(0, 0), (2, 1)]
    assert cut(points, 5, 3, 2) == [(0, 0)]


def test_other_subwords_by_hand():
    """Two words of 2 and 1 sub-words become 3 and 2; two of 1 and 2 become 1, the last is left."""
    points = [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert follow(points, ([2, 1], [3, 2]), ([1, 2], [1])) == [(0, 0), (1, 0), (5, 1)]
    assert follow(points, ([2, 1], [2, 1]), ([1, 2], [1, 2])) == points
    assert follow([(0, 0)], ([4], [2]), ([1], [3])) == [(0, 0), (0, 1), (0, 2)]
