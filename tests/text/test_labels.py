"""Labels as ids, vocabularies of labels, and conditions as one source word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.text.labels import check_labels, check_tags, condition_columns, label_ids
from cgru_cli.text.source_words import pad_ids
from cgru_cli.text.vocabulary import Vocabulary

LABELS = Vocabulary({"</s>": 0, "<unk>": 1, "pos": 2, "neg": 3}, "labels.json")


def test_a_label_has_its_id():
    assert label_ids(["neg"], LABELS, one=True) == [3]
    assert label_ids(["neg", "pos", "neg"], LABELS, one=False) == [3, 2, 3]


def test_each_word_has_a_tag():
    source = [(5, 1), (7, 0), (6, 1)]  # two words, the first in two pieces
    check_tags(source, [2, 3])
    with pytest.raises(CgruError, match="3 tags for 2 words"):
        check_tags(source, [2, 3, 2])


@pytest.mark.parametrize("labels", [[], ["pos", "neg"], ["other"], ["</s>"], ["<unk>"]])
def test_other_labels_are_refused(labels):
    with pytest.raises(
        CgruError, match=r"labels; one is expected|is not among the 2 in labels\.json"
    ):
        label_ids(labels, LABELS, one=True)


@pytest.mark.parametrize(
    "ids",
    [{"</s>": 0, "pos": 1, "neg": 2}, {"</s>": 0, "<unk>": 1}, {"</s>": 0, "<GO>": 1, "a": 2}],
)
def test_vocabulary_of_words_is_refused(ids):
    check_labels(LABELS)
    with pytest.raises(CgruError, match="not a vocabulary of labels"):
        check_labels(Vocabulary(ids, "v.json"))


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def test_a_label_of_a_condition_is_its_id():
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
def test_invalid_labels_of_conditions_are_refused(line):
    with pytest.raises(CgruError, match=r"labels; one is expected|is not among the 2"):
        condition_columns(line, [LABELS], 2)
