"""Weights in options and files, and the features that they match."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.feature_weights import FeatureWeights, model_weights, read
from cgru_cli.options.kinds import weight
from cgru_cli.options.score import ScoreOptions

NUMBER = st.floats(-1e9, 1e9)


def written(folder, value):
    path = folder / "weights.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)


@given(st.lists(NUMBER, min_size=1, max_size=5))
def test_numbers_are_in_the_order_of_the_features(numbers):
    asked = FeatureWeights.asked(" ".join(map(repr, numbers)))
    assert asked.for_features([f"F{i}" for i in range(len(numbers))]) == numbers
    with pytest.raises(UsageError, match=rf"{len(numbers)} weights given; .* A, B"):
        asked.for_features(["A", "B", *(f"F{i}" for i in range(len(numbers)))])


@given(st.dictionaries(st.text(min_size=1, max_size=4), NUMBER, min_size=1, max_size=4))
def test_a_file_names_its_features(tmp_path_factory, weights):
    path = written(tmp_path_factory.mktemp("w"), {"weights": weights, "normalize": 0.5})
    asked = FeatureWeights.asked(path)
    assert asked.for_features(list(weights)[::-1]) == list(weights.values())[::-1]
    assert asked.normalize == 0.5


def test_a_file_may_be_names_and_numbers_alone(tmp_path):
    path = written(tmp_path, {"F0": 1, "R2L": -0.5})
    assert read(path).for_features(["R2L", "F0"]) == [-0.5, 1]
    assert read(path).normalize is None


def test_a_name_with_spaces_is_one_file(tmp_path):
    (tmp_path / "a b").mkdir()
    path = written(tmp_path / "a b", {"F0": 1})
    assert FeatureWeights.asked(path).for_features(["F0"]) == [1]


@pytest.mark.parametrize("asked", [None, "equal"])
def test_without_weights_all_are_one(asked):
    assert FeatureWeights.asked(asked).for_features(["A", "B"]) == [1, 1]
    with pytest.raises(CgruError, match="columns without names"):
        FeatureWeights.asked(asked).for_features(["column0", "B"])


def test_features_and_weights_must_be_the_same(tmp_path):
    asked = FeatureWeights.asked(written(tmp_path, {"F0": 1, "F1": 2}))
    with pytest.raises(CgruError, match=r"weights.json: no weight of R2L; .* F0, F1, R2L"):
        asked.for_features(["F0", "F1", "R2L"])
    with pytest.raises(CgruError, match=r"weights.json: also has a weight of F1.* F0$"):
        asked.for_features(["F0"])


@each_row(
    "content, message",
    [
        ('{"F0": 1,\n}', r"not JSON \(.* line 2 "),
        ("[1, 2]", "a JSON object is expected"),
        ("{}", "no weights"),
        ('{"weights": {}}', "no weights"),
        ('{"F0": "1"}', "the weight of F0 is '1'"),
        ('{"F0": true}', "the weight of F0 is True"),
        ('{"F0": NaN}', "the weight of F0 is nan"),
        ('{"F0": 1e308}', r"the weight of F0 is 1e\+308, not a number from"),
        ('{"weights": {"F0": 1}, "normalize": "x"}', "normalize is 'x'"),
        (
            '{"weights": {"F0": 1}, "normalize": 1e308}',
            r"normalize is 1e\+308, not a number from 0",
        ),
    ],
)
def test_files_that_hold_no_weights_are_told(tmp_path, content, message):
    with pytest.raises(CgruError, match=rf"weights.json: {message}"):
        read(written(tmp_path, content))


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CgruError, match=r"no\.json: No such file"):
        FeatureWeights.asked(str(tmp_path / "no.json"))
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(CgruError, match="bytes: not JSON"):
        FeatureWeights.asked(str(tmp_path / "bytes"))


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e308", "-1e10"])
def test_what_cannot_be_computed_with_is_no_weight(text):
    with pytest.raises(ValueError, match="a weight from -1,000,000,000 to 1,000,000,000"):
        weight(text)
    with pytest.raises(UsageError, match=f"--rerank 1 {text}: a weight"):
        ScoreOptions(n_best="list", rerank=f"1 {text}")


@given(NUMBER)
def test_a_number_is_a_weight(number):
    assert weight(repr(number)) == number
    assert math.copysign(1, weight(repr(number))) == math.copysign(1, number)


@pytest.mark.parametrize(
    "weights, expected",
    [
        ({"a.npz": 1, "b.npz": 2}, (1, 2)),
        ({"b.npz": 2, "a.npz": 1}, (1, 2)),
        ({"F1": 2, "F0": 1}, (1, 2)),
        ({"R2L": 1, "LM": 2}, (1, 2)),
    ],
)
def test_models_find_their_weights(tmp_path, weights, expected):
    assert model_weights([written(tmp_path, weights)], ["a.npz", "b.npz"]) == expected


def test_ten_models_are_in_the_order_of_their_numbers(tmp_path):
    weights = {f"F{i}": i for i in range(11)}
    path = written(tmp_path, dict(sorted(weights.items())))
    assert model_weights([path], [f"m{i}" for i in range(11)]) == tuple(range(11))


def test_other_numbers_of_weights_are_told(tmp_path):
    path = written(tmp_path, {"F0": 1, "R2L": 2})
    with pytest.raises(UsageError, match=r"weights.json: 2 given \(F0, R2L\) for 3 models"):
        model_weights([path], ["a", "b", "c"])
    with pytest.raises(UsageError, match="--weights: 2 given for 1 models"):
        model_weights([1.0, 2.0], ["a"])
    with pytest.raises(UsageError, match="numbers or one file"):
        model_weights([1.0, path], ["a", "b"])
