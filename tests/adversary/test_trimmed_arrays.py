"""If one array of a model lacks a row or column, the error names it with its expected shape.

Only shapes matter, so it makes no difference whether the first or the last is cut off.
"""

import functools
from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, small_structure
from selection import choice
from shared_files import fixture_path

from cgru_cli.errors import CgruError
from cgru_cli.formats import array_files, write_model
from cgru_cli.formats.array_files import StoredArray
from cgru_cli.formats.dialects import MARIAN_YAML
from cgru_cli.formats.model import Model, ModelSettings
from cgru_cli.formats.model_files import ModelFile
from cgru_cli.formats.read_configuration import from_marian
from cgru_cli.formats.read_model import interpret
from cgru_cli.parameters.names import is_training_array
from cgru_cli.parameters.parameter import Dialect
from cgru_cli.parameters.structure import Activation, Normalization
from cgru_cli.system.structured_files import parse_yaml

pytestmark = pytest.mark.long


FIXTURES = [
    "a-shallow", "b-layernorm", "c-tied-dec", "d-tied-all", "e2-deep-theano", "f-factors",
    "marian-amun", "marian-amun-ln", "marian-nematus-ln", "marian-s2s", "marian-s2s-deep",
    "marian-s2s-lstm", "marian-s2s-tanh", "marian-s2s-bi-unidirectional",
    "marian-s2s-bi-uni-cell2-skip", "dl4mt-session0", "dl4mt-session1",
]  # fmt: skip
STRUCTURES = {
    "deep context": small_structure(decoder_depth=3, deep_context=True, state=5),
    "mixture": small_structure(mixture=3, lexical=True, state=5),
    "weight norm": small_structure(weight_normalization=True),
    "layer norm, prelu": small_structure(
        normalization=Normalization.NEMATUS, readout_activation=Activation.PRELU
    ),
    "factors": small_structure(source_vocabularies=(11, 3, 5), source_embeddings=(4, 2, 3)),
}


@functools.cache
def stored(name):
    """The arrays in a model's file, and its configuration."""
    if name in STRUCTURES:
        structure = STRUCTURES[name]
        model = Model(Path("model.npz"), structure, random_arrays(structure), "nematus-tf")
        arrays = write_model.arrays_as(model, "npz")
        return arrays, ModelSettings()
    with array_files.open_npz(fixture_path(f"{name}/model.npz"), skip=is_training_array) as file:
        arrays = {name: array.read() for name, array in file.items()}
    settings = ModelSettings()
    if MARIAN_YAML in arrays:
        content = arrays.pop(MARIAN_YAML).tobytes().split(b"\0")[0]
        settings = from_marian(parse_yaml(content, name), name)
    return arrays, settings


def read(arrays, settings):
    held = {name: StoredArray.of(name, array) for name, array in arrays.items()}
    return interpret(ModelFile(Path("model.npz"), "npz", held, settings))


def shown(shape):
    return str(tuple(int(size) for size in shape))


@pytest.mark.parametrize("name", choice([*FIXTURES, *STRUCTURES], *[*FIXTURES][::3], *STRUCTURES))
def test_the_array_that_was_cut_is_named(name):
    arrays, settings = stored(name)
    model = read(arrays, settings)
    # if only one table has the words, nothing else determines their number
    free = {("Wemb", 0), ("encoder_Wemb", 0)}
    free |= {(f"Wemb{factor}", 0) for factor in range(9)}
    if model.structure.shared_embeddings:
        free = set()
    tried = 0
    for array_name, array in arrays.items():
        if array_name in ("decoder_c_tt", "decoder_c_att"):
            continue
        for axis in range(array.ndim):
            if (array_name, axis) in free or (name, axis) == ("mixture", None):
                continue
            cut = np.take(array, range(array.shape[axis] - 1), axis)
            with pytest.raises(CgruError) as refused:
                read(arrays | {array_name: cut}, settings)
            message = str(refused.value)
            expected = array.shape[1:] if array.ndim == 2 and array.shape[0] == 1 else array.shape
            named = f"{array_name}:" in message or f"{array_name} (" in message
            assert named, (array_name, axis, message)
            alternatives = shown(expected), shown(array.shape)
            assert any(shape in message for shape in alternatives), (array_name, axis, message)
            tried += 1
    assert tried >= len(arrays) - 2


def test_a_transposed_array_is_named_as_the_file_has_it():
    arrays, settings = stored("marian-s2s")
    name = "decoder_ff_logit_l2_Wt"
    if name not in arrays:
        arrays = dict(arrays)
        arrays[name] = arrays.pop("decoder_ff_logit_l2_W").T
    shape = arrays[name].shape
    with pytest.raises(CgruError, match=name) as refused:
        read(arrays | {name: arrays[name][:, :-1]}, settings)
    assert f"expected {shown(shape)}" in str(refused.value)


def test_two_arrays_that_differ_are_both_named():
    structure = small_structure(tied_output=True)
    arrays = random_arrays(structure)
    arrays["ff_logit_b"] = arrays["ff_logit_b"][:-1]
    with pytest.raises(CgruError) as refused:
        read(arrays, ModelSettings())
    for part in ("ff_logit_b (12,)", "Wemb_dec (13, 6)", "ff_logit_b (13,)", "Wemb_dec (12, 6)"):
        assert part in str(refused.value)


def test_a_missing_target_embedding_is_named():
    arrays = random_arrays(small_structure())
    del arrays["Wemb_dec"]
    with pytest.raises(CgruError, match=r"Wemb_dec \(13, 6\), which is missing"):
        read(arrays, ModelSettings())


@pytest.mark.parametrize("unit", ["lstm", "tanh"])
def test_cells_are_recognised_by_most_arrays(unit):
    arrays, settings = stored(f"marian-s2s-{unit}")
    whole = read(arrays, settings).structure
    assert (whole.encoder_unit, whole.decoder_unit) == (unit, unit)
    assert read(arrays, settings).origin["dialect"] == Dialect.S2S
