"""What the benchmarks compare with: the products that are counted, and Keras' layer."""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest

from cgru_cli.parameters.names import parameters

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EMBEDDING, STATE, WORDS = 3, 5, 11


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.parametrize(
    ("kind", "cell", "reader"),
    [
        ("lm", "lstm", None),
        ("encdec", "gru", None),
        ("encdec", "tanh", "bidirectional"),
        ("seq2seq", "lstm", "reversed"),
        ("seq2seq", "relu", "unidirectional"),
        ("rnnsearch", "gru", None),
        ("rnnsearch", "lstm", None),
        ("cgru", "gru", None),
        ("cgru", "tanh", None),
    ],
)
def test_every_matrix_is_multiplied_once_a_word(load, kind, cell, reader):
    products = load("products")
    structure = products.shallow((EMBEDDING, STATE, WORDS), kind, cell, reader)
    counted = sum(m * n for side in products.sides(structure) for some in side for m, n in some)
    left_out = {"decoder/attention/U_att"}  # of attention
    once_a_sentence = ["decoder/start/"]
    if kind == "encdec":
        once_a_sentence += ["decoder/readout/ctx/", "decoder/level1/cell1/Wc"]
    matrices = [
        parameter
        for parameter in parameters(structure)
        if len(parameter.shape) == 2
        and "embedding" not in parameter.path
        and parameter.path not in left_out
        and not parameter.path.startswith(tuple(once_a_sentence))
    ]
    assert counted == sum(math.prod(parameter.size(structure)) for parameter in matrices)


def test_products_that_wait_for_one_another_go_step_by_step(load):
    products = load("products")
    e, d, v = EMBEDDING, STATE, WORDS
    source, target = products.sides(products.shallow((e, d, v), "rnnsearch", "lstm"))
    assert source.by_step == [(d, 4 * d)] * 2
    assert sorted(target.by_step) == sorted([(d, 4 * d), (d, 2 * d), (2 * d, 4 * d)])
    source, target = products.sides(products.shallow((e, d, v), "lm", "tanh"))
    assert source == ([], [])
    assert target.by_step == [(d, d)]


def test_products_are_those_of_so_many_words(load):
    products = load("products")
    floor = products.Products(products.shallow((3, 4, 7), "lm", "gru"), 2, "float32")
    floor(0, 5)  # runs, with a last step that is not full


@pytest.mark.parametrize(
    ("kind", "reader"), [("encdec", None), ("seq2seq", "reversed"), ("lm", None)]
)
def test_keras_layer_computes_the_same_recurrence(load, kind, reader):
    structure = load("products").shallow((6, 8, 9), kind, "lstm", reader)
    pair = load("recurrence").Recurrences(structure)
    mask = (np.arange(7) < np.array([[7], [4], [1]])).astype(np.float32)
    assert pair.difference(*pair.inputs(mask)) < 1e-5


def test_keras_is_compared_with_lstms_alone(load):
    with pytest.raises(ValueError, match="not an LSTM"):
        load("recurrence").Recurrences(load("products").shallow((6, 8, 9), "lm", "gru"))


def test_reading_is_measured_on_files_of_every_kind(load, tmp_path):
    module = load("load")
    paths = module.make(tmp_path, (EMBEDDING, STATE, WORDS), list(module.KINDS))
    assert paths.keys() == module.KINDS.keys()
    read = module.function_of(module.READ)
    for path in paths.values():
        assert module.seconds(read, path) > 0 and module.seconds(module.plainly, path) > 0
        assert read(path).structure.state == STATE
