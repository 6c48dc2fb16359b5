"""ONNX files: written, converted back, translated with, and refused in one line if damaged."""

import gzip
import json
import os
import re

import numpy as np
import onnx
import pytest
from cases import random_arrays, small_structure
from tables import each_row

from cgru_cli import CgruError, Translator, UsageError, load_model, write_model
from cgru_cli.convert.job import run, verify
from cgru_cli.formats import write_model as write_model_files
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read
from cgru_cli.options.convert import ConvertOptions
from cgru_cli.parameters.structure import Dropout, Normalization
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing

TRANSLATES = {
    "plain": {},
    "tied": {"tied_output": True},
    "one embedding": {
        "tied_output": True,
        "shared_embeddings": True,
        "source_vocabularies": (13,),
    },
    "factors": {"source_vocabularies": (11, 3, 4), "source_embeddings": (3, 2, 1)},
    "lexical": {"lexical": True},
    "mixture": {"mixture": 3},
    "weight norm": {"weight_normalization": True},
    "old dropout": {"old_dropout": Dropout(0.1, 0.2, 0.3, 0.4, 0.2)},
    "old dropout, tied": {"old_dropout": Dropout(readout=0.5), "tied_output": True},
    "old dropout, weight norm": {
        "old_dropout": Dropout(0.1, 0.2, 0.3, 0.4, 0.2),
        "weight_normalization": True,
    },
    "deep, layer norm": {
        "encoder_depth": 2,
        "decoder_depth": 2,
        "deep_context": True,
        "normalization": Normalization.NEMATUS,
    },
}
STRUCTURES = {name: small_structure(**changes) for name, changes in TRANSLATES.items()}

# --- files ---------------------------------------------------------------------------------------


def saved(folder, structure, program="nematus"):
    """The path of a random model with vocabularies."""
    names = []
    for number, size in enumerate((*structure.source_vocabularies, structure.target_vocabulary)):
        words = ["eos", "UNK", *(f"w{i}" for i in range(2, size))]
        names.append(folder / f"{number}.json")
        names[-1].write_text(json.dumps({word: i for i, word in enumerate(words)}))
    model = Model(folder / "x", structure, random_arrays(structure, 3), program)
    write_model(model, folder / "model.npz", vocabularies=[str(name) for name in names])
    return folder / "model.npz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with its vocabularies, as model.npz, model.onnx and int8.onnx."""
    folder = tmp_path_factory.mktemp("onnx")
    path = str(saved(folder, small_structure()))
    run([path], str(folder / "model.onnx"), ConvertOptions())
    run([path], str(folder / "int8.onnx"), ConvertOptions(precision="int8", force=True))
    return folder


@each_row(
    ("name", "store"), [("plain", "float32"), ("tied", "float16"), ("deep, layer norm", "float32")]
)
def test_a_file_is_converted_back_bit_for_bit(name, store, tmp_path):
    path = saved(tmp_path, STRUCTURES[name])
    model = read(path)
    out = tmp_path / "out"
    out.mkdir()
    options = ConvertOptions(store=store, verify=True)
    run([str(path)], str(out / "model.onnx"), options)
    run([str(out / "model.onnx")], str(out / "back.npz"), ConvertOptions(store=store, force=True))
    if store == "float32":
        verify(model, read(out / "back.npz"))
        assert (out / "back.npz").read_bytes() == path.read_bytes()
        return
    for file in (out / "model.onnx", out / "back.npz"):
        for name, array in model.arrays.items():
            np.testing.assert_array_equal(read(file).arrays[name], array.astype(np.float16))


@each_row("name", TRANSLATES)
def test_an_int8_file_translates_as_precision_int8(name, tmp_path):
    """Translations and scores are the same to the last bit: the integers are."""
    path = saved(tmp_path, STRUCTURES[name])
    run([str(path)], str(tmp_path / "int8.onnx"), ConvertOptions(precision="int8", force=True))
    factors = len(STRUCTURES[name].source_vocabularies)
    lines = [
        " ".join("|".join([word, "w2", "w3"][:factors]) for word in line.split())
        for line in ("w2 w9 w3 w4", "", "w10", "w8 w7 w7 w2 w5 w6")
    ]
    made = []
    for file, precision in ((tmp_path / "int8.onnx", "float32"), (path, "int8")):
        translator = Translator(file, precision=precision, beam_size=4, translation_maxlen=9)
        lists = translator.translate(lines, n_best=4)
        made.append(
            [[(one.tokens, one.total, list(one.word_scores)) for one in each] for each in lists]
        )
    assert made[0] == made[1] and len(made[0][0]) == 4
    if name == "plain":
        exact = Translator(path, beam_size=4, translation_maxlen=9).translate(lines, n_best=4)
        assert [one.total for one in exact[0]] != [total for _, total, _ in made[0][0]]


def test_int8_is_described_and_not_read_back(folder, capsys):
    path = str(folder / "int8.onnx")
    run([path], None, ConvertOptions(info=True))
    described = capsys.readouterr().out
    assert "(onnx)" in described
    assert ["precision", "int8"] in [row.split() for row in described.split("\n")]
    for output in ("x.npz", "x.onnx"):
        with pytest.raises(CgruError, match="holds weights in int8"):
            run([path], str(folder / output), ConvertOptions())
    with pytest.raises(CgruError, match="holds weights in int8"):
        write_model(load_model(path), folder / "x.npz")
    with pytest.raises(UsageError, match="--precision int8 requires"):
        run([path], str(folder / "x.npz"), ConvertOptions(precision="int8"))
    assert not list(folder.glob("x.*"))


def as_cgru_0_2(model):
    """A file in 8 bits as cgru 0.2 wrote it: only embeddings have names."""
    for tensor in list(model.graph.initializer):
        if tensor.name.startswith("Wemb"):
            tensor.name = tensor.name.replace("/scale", "/scales")
        elif "/" in tensor.name:
            tensor.name = f"1/{tensor.name.replace('/', ':')}_quantized"
    first = onnx.helper.make_tensor("first", onnx.TensorProto.INT32, [], [0])
    model.graph.initializer.append(first)


def before_embeddings_had_8_bits(model):
    """An older file, in which nothing in 8 bits has a name."""
    for tensor in model.graph.initializer:
        if tensor.name.endswith(("/integers", "/scale")):
            tensor.name = f"1/{tensor.name.replace('/', ':')}_quantized"


@each_row("change", [as_cgru_0_2, before_embeddings_had_8_bits])
def test_an_int8_file_of_cgru_0_2_is_to_be_converted_again(folder, tmp_path, change):
    model = onnx.load(folder / "int8.onnx")
    change(model)
    onnx.save(model, tmp_path / "old.onnx")
    with pytest.raises(CgruError, match=r"old\.onnx: an int8 file of cgru 0\.2 or earlier; conv"):
        load_model(tmp_path / "old.onnx")


# --- damaged files -------------------------------------------------------------------------------


def named(model, kind, name):
    """An input, an output or an initializer."""
    return next(one for one in getattr(model.graph, kind) if one.name == name)


def without(kind, name):
    return lambda model: getattr(model.graph, kind).remove(named(model, kind, name))


def renamed(kind, name, new):
    return lambda model: setattr(named(model, kind, name), "name", new)


def described(kind, name, data_type, shape):
    value = onnx.helper.make_tensor_value_info(name, data_type, shape)
    return lambda model: named(model, kind, name).CopyFrom(value)


def stored(name, array):
    tensor = onnx.numpy_helper.from_array(array, name)
    return lambda model: named(model, "initializer", name).CopyFrom(tensor)


def texts(model):
    tensor = onnx.helper.make_tensor("decoder_U", onnx.TensorProto.STRING, [4, 8], [b"x"] * 32)
    named(model, "initializer", "decoder_U").CopyFrom(tensor)


def numbers_in_another_field(model):
    tensor = named(model, "initializer", "decoder_U")
    tensor.float_data.extend(onnx.numpy_helper.to_array(tensor).ravel())
    tensor.ClearField("raw_data")


NAN = np.full((1, 8), 1, np.float32)
NAN[0, 2] = np.nan
FLOAT, INT32, STRING = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.STRING
DAMAGE = [
    ("model", without("output", "new_cells.0"), "its graph has no output new_cells.0; convert"),
    ("model", without("output", "new_memory.1"), "its graph has no output new_memory.1"),
    ("model", without("output", "best"), "its graph has no output best"),
    ("model", without("output", "alignment"), "its graph has no output alignment"),
    ("model", without("input", "task"), "its graph has no input task"),
    ("model", without("input", "memory.0"), "its graph has no input memory.0"),
    ("model", renamed("input", "memory.0", "memory.x"), "its graph has no input memory.0"),
    ("model", renamed("output", "best", "worst"), "its graph has no output best"),
    ("model", described("input", "task", FLOAT, []),
     "input task of its graph: expected int32 (), found float32 ()"),
    ("model", described("input", "source", STRING, [None, None, 1]),
     "input source of its graph: expected int32 (any, any, 1), found no numbers (any, any, 1)"),
    ("model", described("input", "cells.0", FLOAT, [None, 5]),
     "input cells.0 of its graph: expected float32 (any, 4), found float32 (any, 5)"),
    ("model", described("output", "best", INT32, [None]),
     "output best of its graph: expected int32 (any, any), found int32 (any)"),
    ("model", texts, "decoder_U: expected float32, found object"),
    ("model", numbers_in_another_field, "decoder_U: expected float32, found object"),
    ("model", stored("decoder_U", np.ones((4, 8), np.int64)),
     "decoder_U: expected float32, found int64"),
    ("model", stored("decoder_U", np.ones((8, 4), np.float32)),
     "decoder_U: expected (4, 8), found (8, 4)"),
    ("model", stored("decoder_U", NAN[[0] * 4]), "decoder_U: not finite at (0, 2) (nan)"),
    ("model", without("initializer", "decoder_U"), "missing 1 array: expected decoder_U (4, 8)"),
    ("model", renamed("initializer", "decoder_U", "more"), "array more is unknown"),
    ("int8", stored("decoder_U/scale", NAN), "decoder_U/scale: not finite at (2,) (nan)"),
    ("int8", without("initializer", "decoder_U/scale"),
     "array decoder_U: its integers lack a scale"),
    ("int8", without("initializer", "decoder_U/integers"),
     "missing 1 array: expected decoder_U (4, 8)"),
    ("int8", stored("decoder_U/scale", np.ones((8, 1), np.float32)),
     "array decoder_U: integers (4, 8) of int8 with a scale (8, 1) of float32; expected int8"),
    ("int8", stored("decoder_U/scale", np.ones((1, 8), np.int8)),
     "with a scale (1, 8) of int8; expected int8, and float32 by column or row"),
    ("int8", stored("decoder_U/integers", np.ones((4, 8), np.float32)),
     "array decoder_U: integers (4, 8) of float32 with a scale"),
    ("int8", stored("decoder_U/integers", np.ones((5, 8), np.int8)),
     "decoder_U: expected (4, 8), found (5, 8)"),
]  # fmt: skip


@each_row(("file", "change", "message"), DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_part_gets_one_line(folder, tmp_path, file, change, message):
    model = onnx.load(folder / f"{file}.onnx")
    change(model)
    path = tmp_path / "x.onnx"
    onnx.save(model, path)
    with pytest.raises(CgruError) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[: len(content) // 2], "x.onnx: not a complete ONNX file"),
        (lambda content: content[:-40], "x.onnx: not a complete ONNX file"),
        (lambda content: content.replace(b'"version": 1', b'"version": 9'), "of version 9"),
        (lambda content: content.replace(b'"structure"', b'"structuRe"'), "does not describe"),
        (lambda content: b"\x0a" * 50, "x.onnx: not a complete ONNX file"),
        (lambda content: b"", "x.onnx: is empty"),
    ],
)
def test_a_damaged_file_gets_one_line(folder, tmp_path, change, message):
    path = tmp_path / "x.onnx"
    path.write_bytes(change((folder / "model.onnx").read_bytes()))
    with pytest.raises(CgruError, match=message):
        load_model(path)


def test_an_onnx_file_of_another_program_gets_one_line(tmp_path):
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value], [value])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "other.onnx")
    with pytest.raises(CgruError, match="an ONNX model that cgru did not write"):
        read(tmp_path / "other.onnx")


@each_row("missing", [False, True])
def test_external_data_gets_one_line(folder, tmp_path, missing):
    path, data = tmp_path / "outside.onnx", tmp_path / "outside.data"
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, path, save_as_external_data=True, location=data.name, size_threshold=0)
    if missing:
        data.unlink()
    with pytest.raises(CgruError, match=r"outside\.onnx: array .* is in another file") as caught:
        read(path)
    assert "\n" not in str(caught.value)


# --- one file ------------------------------------------------------------------------------------


@pytest.fixture
def one_file(folder, tmp_path):
    """Writes the model with its vocabularies in one file; more: options."""

    def write(**more):
        run(
            [str(folder / "model.npz")],
            str(tmp_path / "x.onnx"),
            ConvertOptions(one_file=True, **more),
        )
        return tmp_path / "x.onnx"

    return write


def test_one_file_holds_everything_that_translation_needs(folder, tmp_path, one_file):
    lower = Preprocessing(PipelineSettings(languages=("en", "de"), case="lower"))
    prepared = json.dumps(lower.as_json()).encode()
    (folder / "model.npz.preprocess.json").write_bytes(prepared)
    try:
        path = one_file()
    finally:
        (folder / "model.npz.preprocess.json").unlink()
    assert os.listdir(tmp_path) == ["x.onnx"]
    loaded = load_model(path)
    assert loaded.target.path == f"{path}/1.json" and loaded.target.size == 13
    found = Translator(path).translate("W2 W3 W7")
    assert found.tokens == Translator(folder / "model.npz").translate("w2 w3 w7").tokens
    run([str(path)], str(tmp_path / "back.npz"), ConvertOptions())
    assert (tmp_path / "1.json").read_bytes() == (folder / "1.json").read_bytes()
    assert (tmp_path / "back.npz.preprocess.json").read_bytes() == prepared
    with pytest.raises(UsageError, match="--one-file requires"):
        run([str(folder / "model.npz")], str(folder / "x.npz"), ConvertOptions(one_file=True))


def test_a_compressed_vocabulary_inside_a_file(folder, tmp_path, one_file):
    names = [tmp_path / f"{number}.json.gz" for number in (0, 1)]
    for name in names:
        name.write_bytes(gzip.compress((folder / name.stem).read_bytes()))
    path = one_file(vocabularies=[str(name) for name in names])
    for name in names:
        name.unlink()
    assert load_model(path).target.size == 13


def test_files_inside_a_file_that_are_too_large_or_damaged(tmp_path, monkeypatch, one_file):
    monkeypatch.setattr(write_model_files, "LARGEST_INSIDE", 50)
    with pytest.raises(CgruError, match=r"--one-file: .* take 2\d\d bytes, and at most 50 fit"):
        one_file()
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    path = one_file()
    model = onnx.load(path)
    (entry,) = (entry for entry in model.metadata_props if entry.key == "cgru")
    entry.value = re.sub(r'("1.json": ")[^"]*', r"\1AAAAA", entry.value)
    onnx.save(model, path)
    with pytest.raises(CgruError, match=r"x\.onnx/1\.json: damaged"):
        read(path)
