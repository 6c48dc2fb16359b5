"""Weights of sentences and words: parsing, and invalid weights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.corpus.data_weights import parse_sentence, parse_words
from cgru_cli.errors import CgruError

weights = st.floats(0, 1e30)


@given(weights)
def test_a_weight_of_a_sentence(weight):
    assert parse_sentence(f" {weight!r} ") == [weight]


@given(st.lists(weights), st.booleans())
def test_weights_of_words(numbers, eos):
    """The default weight of EOS is 1."""
    line = " ".join(map(repr, [*numbers, *[0.25] * eos]))
    assert parse_words(line, len(numbers)) == [*numbers, 0.25 if eos else 1.0]


@each_row(
    ("line", "message"),
    [
        ("", "0 numbers; one is expected"),
        ("1 2", "2 numbers; one is expected"),
        ("x", "'x' is not a number"),
        ("1,5", "'1,5' is not a number"),
        ("-0.5", "-0.5 is not a weight; it must be finite and not negative"),
        ("nan", "nan is not a weight"),
        ("inf", "inf is not a weight"),
        ("1e39", "1e39 is not a weight"),  # of float32
    ],
)
def test_invalid_weights_are_refused(line, message):
    with pytest.raises(CgruError, match=message):
        parse_sentence(line)


@pytest.mark.parametrize("line", ["", "1", "1 1 1 1"])
def test_wrong_number_of_weights(line):
    with pytest.raises(CgruError, match="weights for a target of 2 words; as many are expected"):
        parse_words(line, 2)
