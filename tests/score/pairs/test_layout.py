"""Layouts of the programs' scorers, with made-up scores."""

import json

import numpy as np
import pytest
from tables import each_row

from cgru_cli.errors import UsageError
from cgru_cli.output.hypothesis import Hypothesis
from cgru_cli.output.layouts import layout_of
from cgru_cli.score.pairs.layout import ScoreLayout

ALIGNMENT = np.array([[0.75, 0.25, 0], [0.125, 0.5, 0.375], [0, 0.25, 0.75]], np.float32)


def hypothesis(total=-2.5, words=("A", "B"), alignment=None):
    scores = [-1.5, -0.75, -0.25]
    source = ("a", "b")
    return Hypothesis(list(words), True, -2.5, total, scores, (-2.5,), alignment, source=source)


def layout(program="cgru", models=1, digits=False, **more):
    return ScoreLayout(layout_of(program, **more), models, digits=digits)


@pytest.mark.parametrize(
    "program, expected",
    [
        ("cgru", "-2.500000"),
        ("marian", "-2.500000"),
        ("nematus", "2.5"),
        ("nematus-tf", "2.5"),
        ("dl4mt", "2.5"),
    ],
)
def test_each_program_has_its_sign_and_digits(program, expected):
    assert layout(program).pair(0, [hypothesis()]) == f"{expected}\n"


@pytest.mark.parametrize(
    "program, expected",
    [
        ("cgru", "-0.333333"),
        ("nematus", "0.33333334"),
        ("dl4mt", "0.3333333432674408"),
    ],
)
def test_numbers_are_float32(program, expected):
    assert layout(program).number(-1 / 3) == expected


def test_small_probabilities_keep_six_digits():
    assert layout(digits=True).number(1.5e-9) == "1.5e-09"
    assert layout(digits=True).number(1 / 3) == "0.333333"


def test_several_models_are_columns():
    text = layout("nematus", 2).pair(0, [hypothesis(-1), hypothesis(-2)])
    assert text == "1.0 2.0\n"


def test_alignment_and_word_scores_follow_the_score():
    aligned = hypothesis(alignment=ALIGNMENT)
    text = layout(word_scores=True, alignment="hard").pair(0, [aligned])
    assert text == "-2.500000 ||| 0-0 1-1 2-2 ||| WordScores= -1.5 -0.75 -0.25\n"
    soft = layout("marian", alignment="soft").pair(0, [aligned])
    assert soft == "-2.500000 ||| 0.75,0.25,0 0.125,0.5,0.375 0,0.25,0.75\n"


def test_json_has_one_object_per_line():
    text = layout(alignment="soft", alignment_format="json", word_scores=True).pair(
        4, [hypothesis(alignment=ALIGNMENT)]
    )
    assert text.count("\n") == 1
    assert json.loads(text) == {
        "id": 4,
        "text": "A B",
        "source": ["a", "b", "</s>"],
        "target": ["A", "B", "</s>"],
        "alignment": ALIGNMENT.tolist(),
        "score": -2.5,
        "total": -2.5,
        "word_scores": [-1.5, -0.75, -0.25],
    }


def test_right_to_left_output_is_printed_in_reading_order():
    text = layout(word_scores=True, right_left=True, alignment="hard").pair(
        0, [hypothesis(alignment=ALIGNMENT)]
    )
    assert text == "-2.500000 ||| 0-1 1-0 2-2 ||| WordScores= -0.75 -1.5 -0.25\n"


@each_row(
    "entry, expected",
    [
        ("0 ||| A B ||| F0= -1 ||| -9", "0 ||| A B ||| F0= -1 Score= -2.5 ||| -9"),
        ("0 ||| A B ||| F0= -1  ||| -9 ||| x", "0 ||| A B ||| F0= -1 Score= -2.5 ||| -9 ||| x"),
        ("0 ||| A B ||| -9", "0 ||| A B ||| -9 Score= -2.5 "),
        ("0 ||| A ||| lm: -1 w: -3 ||| -9", "0 ||| A ||| lm: -1 w: -3 Score: -2.5 ||| -9"),
        ("0 ||| A B", "0 ||| A B ||| Score= -2.5 "),
        ("0 ||| ", "0 |||  ||| Score= -2.5 "),
        ("0 ||| A|||B ||| F0= -1 ||| -9", "0 ||| A|||B ||| F0= -1 Score= -2.5 ||| -9"),
        (
            "0 ||| A ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -1 ||| -9",
            "0 ||| A ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -1 Score= -2.5 ||| -9",
        ),
    ],
)
def test_a_list_gets_a_feature(entry, expected):
    assert layout().entry(entry, [hypothesis()]) == f"{expected}\n"


def test_marian_adds_to_the_third_field():
    """Whatever it has (marian-dev, src/rescorer/score_collector.cpp)."""
    entry = layout("marian").entry("0 ||| A ||| WordScores= -1 ||| F0= -1 ||| -9", [hypothesis()])
    assert entry == "0 ||| A ||| WordScores= -1 Score= -2.5 ||| F0= -1 ||| -9\n"
    twice = layout("marian").entry("0 ||| A ||| Score= -1 ||| -9", [hypothesis()])
    assert twice == "0 ||| A ||| Score= -1 Score= -2.5 ||| -9\n"


def test_a_list_gets_a_feature_of_each_model():
    two = ScoreLayout(layout_of(), 2, "R2L")
    entry = two.entry("0 ||| A ||| F0= -1 ||| -1", [hypothesis(-1), hypothesis(-3)])
    assert entry == "0 ||| A ||| F0= -1 R2L0= -1 R2L1= -3 ||| -1\n"


def test_nematus_lists_get_columns():
    entry = layout("nematus", 2).entry("0 ||| A ||| 9.5 ", [hypothesis(-1), hypothesis(-3)])
    assert entry == "0 ||| A ||| 9.5 1.0 3.0\n"


def test_word_scores_precede_the_features_of_a_list():
    entry = layout(word_scores=True).entry("0 ||| A B ||| F0= -1 ||| -9", [hypothesis()])
    assert entry == "0 ||| A B ||| WordScores= -1.5 -0.75 -0.25 ||| F0= -1 Score= -2.5 ||| -9\n"


@pytest.mark.parametrize("more", [{"word_scores": True}, {"alignment": "soft"}])
def test_words_of_several_models_are_refused(more):
    with pytest.raises(UsageError, match="--ensemble"):
        layout(models=2, **more)
