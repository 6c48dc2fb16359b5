"""The content of a heat map."""

import numpy as np
import pytest

from cgru_cli.errors import CgruError
from cgru_cli.output.heatmap.view import is_right_to_left, model_names
from cgru_cli.output.hypothesis import Hypothesis, view_of

WEIGHTS = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], np.float32)
SCORES = np.log([0.5, 0.25, 0.125])


def hypothesis(finished=True, **changes):
    tokens = ["A", "B"] if finished else ["A", "B", "C"]
    return Hypothesis(
        tokens, finished, float(SCORES.sum()), 0.0, SCORES.tolist(), (), WEIGHTS, source=["a", "b"]
    )._replace(**changes)


def test_view_has_both_sides_with_eos():
    view = view_of("m", hypothesis())
    assert (view.source, view.target) == (["a", "b", "</s>"], ["A", "B", "</s>"])
    np.testing.assert_allclose(view.probabilities, [0.5, 0.25, 0.125], rtol=1e-6)
    assert view.strongest.tolist() == [0, 1, 2]
    assert view_of("m", hypothesis(finished=False)).target == ["A", "B", "C"]


def test_labels_have_no_end():
    view = view_of("m", hypothesis(), labels=True)
    assert view.target == ["A", "B"] and view.weights.tolist() == WEIGHTS[:2].tolist()
    np.testing.assert_allclose(view.probabilities, [0.5, 0.25], rtol=1e-6)


def test_right_to_left_output_is_shown_left_to_right():
    view = view_of("m", hypothesis(), right_left=True)
    assert view.target == ["B", "A", "</s>"]
    np.testing.assert_array_equal(view.weights, WEIGHTS[[1, 0, 2]])
    np.testing.assert_allclose(view.probabilities, [0.25, 0.5, 0.125], rtol=1e-6)


def test_probabilities_of_an_ensemble_are_the_geometric_mean():
    own = np.log([[0.5, 0.2, 0.9], [0.1, 0.4, 0.9]])
    for weights in ((0.5, 0.5), (1.0, 1.0), (3.0, 1.0)):
        summed = np.tensordot(weights, own, 1).tolist()
        view = view_of("mean", hypothesis(word_scores=summed), model_weights=weights)
        expected = np.exp(np.average(own, axis=0, weights=weights))
        np.testing.assert_allclose(view.probabilities, expected, rtol=1e-6)
    assert view_of("mean", hypothesis(), model_weights=(1.0, -0.5)).probabilities is None


def test_no_attention():
    with pytest.raises(CgruError, match=r"m\.npz: has no attention to draw"):
        view_of("m.npz", hypothesis(alignment=None))


@pytest.mark.parametrize(
    "paths, names",
    [
        (["/x/a.npz"], ["a.npz"]),
        (["x/a.npz", "y/b.npz"], ["a.npz", "b.npz"]),
        (["/x/p/m.npz", "/x/q/m.npz"], ["p/m.npz", "q/m.npz"]),
        (["p/m.npz", "m.npz"], ["p/m.npz", "m.npz"]),
        (["m.npz", "m.npz"], ["m.npz", "m.npz"]),
    ],
)
def test_names_of_models_differ(paths, names):
    assert model_names(paths) == names


@pytest.mark.parametrize(
    "words, expected",
    [
        ("the boy went", False),
        ("ذهب الولد إلى", True),
        ("הילד הלך NATO .", True),
        ("NATO and the ולד", False),
        ("1 , 2 .", False),
        ("12 «ذهب»", True),
        ("", False),
    ],
)
def test_direction(words, expected):
    assert is_right_to_left(words.split()) is expected
