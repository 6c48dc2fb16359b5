"""Configuration values of a wrong type or out of bounds are one-line errors."""

import json

import numpy as np
import pytest
from bombs import bounded, refused
from cases import random_arrays, small_structure
from command_lines import parsed
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.configuration_values import KINDS, value_of
from cgru_cli.formats.model import Model, ModelSettings
from cgru_cli.formats.read_configuration import from_marian, from_nematus
from cgru_cli.formats.read_model import read

pytestmark = pytest.mark.long


LARGE = 10**30
ODD = [
    float("inf"), float("nan"), -1e308, LARGE, -LARGE, 10**400, -7, 1.5, [], [[]], ["a"], {"a": 1},
    {}, "x", "\0", "\ud800", "9" * 400, "a" * 10_000, True, [None], b"a", object,
]  # fmt: skip


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, **random_arrays(small_structure()))
    return path


@each_row("key", KINDS)
def test_every_value_has_its_type_or_is_refused(key):
    for value in ODD:
        for reader in (from_nematus, from_marian):
            try:
                settings = reader({key: value}, "x.json")
            except CgruError as error:
                assert str(error).startswith(f"x.json: {key} is ")
                problem = str(error).rpartition(": ")[2]
                assert problem.startswith(("expected ", "number out of range", "not valid Unicode"))
                assert len(str(error)) < 300
            else:
                assert isinstance(settings, ModelSettings)
                assert all(isinstance(name, str) for name in settings.vocabularies)


def test_the_table_holds_every_key_that_is_read():
    """A key without a type would be a KeyError only if a configuration has it."""
    every = dict.fromkeys(KINDS, "")
    assert from_nematus(every, "x.json") and from_marian(every, "x.yml")
    with pytest.raises(KeyError):
        value_of({"no such key": 5}, "no such key", "x")


@pytest.mark.parametrize(
    "text",
    [
        '{"dim": Infinity}', '{"dictionaries": 5}', '{"dim": NaN}', '{"dim": 1e400}',
        '{"dictionaries": [["a"]]}', '{"use_dropout": "perhaps"}', '{"encoder": ["gru"]}',
        '{"model_version": {}, "use_dropout": true, "dropout_embedding": 0.1}',
        '{"dropout_embedding": 0.1, "use_dropout": true, "dropout_hidden": 7}',
    ],
)  # fmt: skip
def test_nematus(model, text):
    (model.parent / "model.npz.json").write_text(text)
    if "Infinity" in text or "dictionaries" in text:
        assert "model.npz.json: d" in refused(read, model)
    else:
        refused(read, model)


@pytest.mark.parametrize(
    "text",
    [
        "enc-cell: [a]", "vocabs: {a: b}", "dim-vocabs: 'x'", "dim-vocabs: [a, b]", "type: [s2s]",
        "beam-size: .inf", "normalize: x", "skip: 5", "enc-depth: 1000000000000",
        "dim-rnn: 1e300", "right-left: [true]",
    ],
)  # fmt: skip
def test_marian(model, text):
    (model.parent / "model.npz.yml").write_text(text)
    assert "model.npz.yml" in refused(read, model)


def test_names_of_300_characters(model):
    values = {"dictionaries": ["a" * 300, "b" * 300]}
    (model.parent / "model.npz.json").write_text(json.dumps(values))
    assert "too long" in refused(model_vocabularies.find, read(model))
    assert "too long" in refused(read, model.parent / ("m" * 300))


OWN = {
    ("structure", "state"): [0, -1, "4", 1.5, LARGE, None, [4], True],
    ("structure", "residual"): [5, "yes", None],
    ("structure", "old_dropout"): [5, "ab", [1, 2], [None] * 5, [2.0] * 5, [0.1] * 9],
    ("structure", "source_vocabularies"): [5, "11", [[11]], [11] * 10**5, [11, 11], []],
    ("structure", "encoder"): ["x", [], {}, None],
    ("structure", "mixture"): [0, 65, 10**9],
    ("structure", "more"): [1],
    ("program",): [5, ["nematus"], "x", {}],
    ("origin",): [5, {"yaml": 5}, {"bytes": 10**18}, {"transposed": "ab"}, {"dialect": []}],
    ("decoding",): [5, {"beam_size": [1]}, {"normalize": "x"}, {"beam_size": LARGE}],
    ("inert",): [5, "ab", {str(i): None for i in range(101)}],
}


@pytest.mark.parametrize("place", OWN)
@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_what_cgru_wrote_of_a_model(tmp_path, place, suffix, monkeypatch):
    structure = small_structure()
    model = Model(tmp_path / "x", structure, random_arrays(structure), "nematus")
    values = write_model.own_configuration.own(model, "nematus")
    for value in OWN[place]:
        changed = json.loads(json.dumps(values))
        inside = changed
        for name in place[:-1]:
            inside = inside[name]
        inside[place[-1]] = value
        path = tmp_path / f"model.{suffix}"
        with monkeypatch.context() as patch:
            patch.setattr(write_model.own_configuration, "own", lambda *_a, c=changed: dict(c))
            write_model.write(model, path, suffix, force=True)
        refused(read, path, seconds=3)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*KINDS, "cgru", "deep_fusion_lm"]), plain, max_size=6))
def test_any_values_are_read_or_refused(values):
    for reader in (from_nematus, from_marian):
        with bounded(seconds=2):
            try:
                reader(values, "x")
            except CgruError as error:
                assert str(error).startswith("x: ")


@pytest.mark.parametrize(
    "text",
    ["scorers: {F0: 5}", "scorers: {F0: {path: [[a]]}}", "models: 5", "weights: {F0: x}",
     "weights: {F0: .inf}", "vocabs: 5"],
)  # fmt: skip
def test_decoder(tmp_path, text):
    path = tmp_path / "decoder.yml"
    path.write_text(text)
    assert "decoder.yml: " in refused(parsed, "translate", "-c", path)
