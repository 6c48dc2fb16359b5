"""Lines of the programs' n-best lists, parsed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_files import text_lines
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.score.n_best.entry import parse

CHARACTERS = st.characters(exclude_characters=" \n|", exclude_categories=["Cs"])
WORDS = st.lists(st.text(CHARACTERS, min_size=1, max_size=4), max_size=5)
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3)


@given(st.integers(0, 10**9), WORDS, NUMBERS, st.floats(-100, 100))
def test_marians_lines_are_parsed(number, words, values, total):
    features = " ".join(f"F{i}= {value!r}" for i, value in enumerate(values))
    entry = parse(f"{number} ||| {' '.join(words)} ||| {features} ||| {total!r}")
    assert (entry.sentence, entry.text) == (number, " ".join(words))
    assert entry.features == {f"F{i}": value for i, value in enumerate(values)}
    assert (entry.words, entry.length) == (len(words) + 1, None)


@each_row(
    "line, features",
    [
        ("0 ||| a b ||| F0= -1 Score= -2 ||| -3", {"F0": -1, "Score": -2}),
        ("0 ||| a b ||| 0-0 1-1 ||| F0= -1 ||| -3", {"F0": -1}),
        ("0 ||| a ||| 0-0 ||| WordScores= -1 -2 ||| F0= -1 ||| -3", {"F0": -1}),
        ("0 ||| a ||| LM= -1 TM= -2 -3 ||| -3 ||| 0-0", {"LM": -1, "TM_0": -2, "TM_1": -3}),
        ("0 ||| a b  ||| -11.3", {"column0": -11.3}),
        ("0 ||| a b ||| 11.3 4e-1 2", {"column0": 11.3, "column1": 0.4, "column2": 2}),
        ("0 ||| 1 2 ||| -7 R2L= -1 ", {"column0": -7, "R2L": -1}),
        (
            "0 ||| a ||| d: 0 0 lm: -10.5 w: -3 ||| -5.5",  # of old versions of Moses
            {"d_0": 0, "d_1": 0, "lm": -10.5, "w": -3},
        ),
        ("0 ||| a ||| lm: -10.5 R2L= -2 ||| -5.5", {"lm": -10.5, "R2L": -2}),
        ("0 ||| a ||| see: b ||| -5.5", {"column0": -5.5}),
        ("0 ||| F0= 1", {}),
        ("0 ||| a ||| ", {}),
        ("0 ||| ||| F0= 1 ||| ||| 2", {"F0": 1}),
        ("0|||a b|||11.3", {"column0": 11.3}),  # DL4MT's
        ("0||||||11.3", {"column0": 11.3}),
    ],
)
def test_features_of_each_program_are_parsed(line, features):
    assert parse(line).features == features


@pytest.mark.parametrize(
    "line, expected",
    [
        ("7 ||| a b ||| F0= -1  ||| -3", "7 ||| a b ||| F0= -1 ||| 0.25"),
        ("7 ||| a ||| 0-0 ||| F0= -1 ||| -3 ||| x", "7 ||| a ||| 0-0 ||| F0= -1 ||| 0.25 ||| x"),
        ("7 ||| a b  ||| 11.3 4", "7 ||| a b ||| 11.3 4 ||| 0.25"),
        ("7 ||| a ||| 0.5 ||| 0.9 0.8", "7 ||| a ||| 0.5 ||| 0.25 ||| 0.9 0.8"),
    ],
)
def test_new_total_follows_the_features(line, expected):
    assert parse(line).with_total(0.25) == f"{expected}\n"
    assert parse(parse(line).with_total(0.25)[:-1]).features == parse(line).features


@each_row(
    "line, message",
    [
        ("a b c", "not an entry of an n-best list"),
        ("x ||| a ||| 1", "not an entry of an n-best list"),
        ("", "not an entry of an n-best list"),
        ("0 ||| a ||| F0= x", "feature F0 is x, not a finite number"),
        ("0 ||| a ||| F0= nan", "feature F0 is nan"),
        ("0 ||| a ||| -inf", "feature without a name is -inf"),
        ("0 ||| a ||| F0= F1= 2", "feature F0 has no value"),
        ("0 ||| a ||| F0= 1 F0= 2", "feature F0 occurs twice; name the models' scores"),
        ("0 ||| a ||| = 1", "a feature has no name"),
    ],
)
def test_invalid_lines_are_refused(line, message):
    with pytest.raises(CgruError, match=message):
        parse(line)


@pytest.mark.parametrize(
    "path, names",
    [
        ("a-shallow/nbest.k12.txt", {"column0"}),
        ("a-shallow/theano/nbest.k5.norm1.txt", {"column0"}),
        ("a-shallow/dl4mt/session2.nbest.k5.txt", {"column0"}),
        ("marian-amun/nbest.k12.norm1.txt", {"F0"}),
        ("a-shallow/marian-amun/nbest.align.wordscores.k5.norm1.txt", {"F0"}),
    ],
)
def test_lists_of_the_programs_are_parsed(shared, path, names):
    entries = [parse(line) for line in text_lines(shared(f"fixtures/{path}"))]
    assert {name for entry in entries for name in entry.features} == names
    assert max(entry.sentence for entry in entries) == 49
