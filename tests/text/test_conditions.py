"""Conditions: a label or a vector becomes one source word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.text.conditions import condition_columns
from cgru_cli.text.source_words import pad_ids
from cgru_cli.text.vocabulary import Vocabulary

LABELS = Vocabulary({"</s>": 0, "<unk>": 1, "pos": 2, "neg": 3}, "labels.json")
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def test_a_label_is_its_id():
    assert condition_columns(" neg ", [LABELS], 2) == [(3,)]


@given(st.lists(FLOATS, min_size=1, max_size=5))
def test_numbers_stay_bit_exact_in_a_batch(numbers):
    (columns,) = condition_columns(" ".join(map(repr, numbers)), [], len(numbers))
    ids, mask = pad_ids([[columns]], len(numbers))
    found = ids[0, 0].view(np.float32)
    assert found.tobytes() == np.array(numbers, np.float32).tobytes()
    assert mask.tolist() == [[1.0, 1.0]]


@each_row(
    ("line", "message"),
    [
        ("", "0 numbers; 2 are expected in each line"),
        ("1", "1 numbers; 2 are expected"),
        ("1 2 3", "3 numbers; 2 are expected"),
        ("1 two", "'two' is not a number"),
        ("1 2_0", "'2_0' is not a number"),
        ("nan 2", "'nan' is not a finite number"),
        ("1 1e39", "'1e39' is not a finite number"),  # as float32
        ("1\t2", "1 numbers"),
    ],
)
def test_invalid_vectors_are_refused(line, message):
    with pytest.raises(CgruError, match=message):
        condition_columns(line, [], 2)


@pytest.mark.parametrize("line", ["", "pos neg", "other", "<unk>"])
def test_invalid_labels_are_refused(line):
    with pytest.raises(CgruError, match=r"labels; one is expected|is not among the 2"):
        condition_columns(line, [LABELS], 2)
