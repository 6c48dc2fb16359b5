"""Models in ONNX files, read back or damaged."""

import gzip
import json
import os
import re

import numpy as np
import onnx
import pytest
from cases import random_arrays
from models import typed

from cgru_cli import CgruError, Translator, UsageError, load_model, write_model
from cgru_cli.convert.job import run
from cgru_cli.formats import write_model as write_model_files
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read
from cgru_cli.options.convert import ConvertOptions
from cgru_cli.parameters.structure import Encoder, Type
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing

SIZES = {"source_vocabularies": (9,), "target_vocabulary": 9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with its vocabulary, as model.npz, model.onnx and int8.onnx."""
    folder = tmp_path_factory.mktemp("onnx")
    words = ["</s>", "<unk>", *"abcdefg"]
    vocabulary = folder / "vocab.json"
    vocabulary.write_text(str({word: i for i, word in enumerate(words)}).replace("'", '"'))
    structure = typed(Type.SEQ2SEQ, encoder=Encoder.UNIDIRECTIONAL, **SIZES)  # soon converted
    model = Model(folder / "x", structure, random_arrays(structure, 3), "nematus")
    names = [str(vocabulary)] * 2
    for name, precision in (
        ("model.npz", "float32"),
        ("model.onnx", "float32"),
        ("int8.onnx", "int8"),
    ):
        write_model(model, folder / name, vocabularies=names, precision=precision, force=True)
    return folder


def test_a_file_is_read_back_bit_for_bit(folder):
    model, back = read(folder / "model.npz"), read(folder / "model.onnx")
    assert back.structure == model.structure and back.container == "onnx"
    assert all((back.arrays[name] == array).all() for name, array in model.arrays.items())
    run(str(folder / "model.onnx"), str(folder / "back.npz"), ConvertOptions())
    assert (folder / "back.npz").read_bytes() == (folder / "model.npz").read_bytes()


def test_int8_is_described_and_not_read_back(folder, capsys):
    path = str(folder / "int8.onnx")
    run(path, None, ConvertOptions(info=True))
    told = capsys.readouterr().out
    assert "(onnx)" in told and any(
        row.split() == ["precision", "int8"] for row in told.split("\n")
    )
    with pytest.raises(CgruError, match="holds weights in int8"):
        read(path)
    stored = {tensor.data_type for tensor in onnx.load(path).graph.initializer}
    assert onnx.TensorProto.INT8 in stored
    with pytest.raises(UsageError, match="--precision int8 requires"):
        run(path, str(folder / "x.npz"), ConvertOptions(precision="int8"))


def test_float16_is_stored_and_read_back(folder):
    run(str(folder / "model.npz"), str(folder / "half.onnx"), ConvertOptions(store="float16"))
    model, back = read(folder / "model.npz"), read(folder / "half.onnx")
    for name, array in model.arrays.items():
        np.testing.assert_array_equal(back.arrays[name], array.astype(np.float16))


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
def test_a_damaged_file_gets_one_line(folder, change, message):
    path = folder / "x.onnx"
    path.write_bytes(change((folder / "model.onnx").read_bytes()))
    with pytest.raises(CgruError, match=message):
        read(path)


def test_an_onnx_file_of_another_program_gets_one_line(folder):
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value], [value])
    onnx.save(onnx.helper.make_model(graph), folder / "other.onnx")
    with pytest.raises(CgruError, match="an ONNX model that cgru did not write"):
        read(folder / "other.onnx")


@pytest.mark.parametrize("missing", [False, True])
def test_external_data_gets_one_line(folder, missing):
    path, data = folder / "outside.onnx", folder / "outside.data"
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, path, save_as_external_data=True, location=data.name, size_threshold=0)
    if missing:
        data.unlink()
    with pytest.raises(CgruError, match=r"outside\.onnx: array .* is in another file") as caught:
        read(path)
    assert "\n" not in str(caught.value)
    data.unlink(missing_ok=True)  # the folder serves other tests


def test_one_file_holds_everything_that_translation_needs(folder, tmp_path):
    lower = Preprocessing(PipelineSettings(languages=("en", "de"), case="lower"))
    prepared = json.dumps(lower.as_json()).encode()
    (folder / "model.npz.preprocess.json").write_bytes(prepared)
    try:
        run(str(folder / "model.npz"), str(tmp_path / "x.onnx"), ConvertOptions(one_file=True))
    finally:
        (folder / "model.npz.preprocess.json").unlink()
    assert os.listdir(tmp_path) == ["x.onnx"]
    loaded = load_model(tmp_path / "x.onnx")
    assert loaded.target.path == f"{tmp_path}/x.onnx/vocab.json" and loaded.target.size == 9
    found = Translator(loaded).translate("A B C")
    assert found.tokens == Translator(folder / "model.npz").translate("a b c").tokens
    run(str(tmp_path / "x.onnx"), str(tmp_path / "back.npz"), ConvertOptions())
    assert (tmp_path / "vocab.json").read_bytes() == (folder / "vocab.json").read_bytes()
    assert (tmp_path / "back.npz.preprocess.json").read_bytes() == prepared
    with pytest.raises(UsageError, match="--one-file requires"):
        run(str(folder / "model.npz"), str(folder / "x.npz"), ConvertOptions(one_file=True))


def test_a_compressed_vocabulary_inside_a_file(folder, tmp_path):
    (tmp_path / "vocab.json.gz").write_bytes(gzip.compress((folder / "vocab.json").read_bytes()))
    names = [str(tmp_path / "vocab.json.gz")] * 2
    options = ConvertOptions(one_file=True, vocabularies=names)
    run(str(folder / "model.npz"), str(tmp_path / "x.onnx"), options)
    (tmp_path / "vocab.json.gz").unlink()
    assert load_model(tmp_path / "x.onnx").target.size == 9


def test_files_inside_a_file_that_are_too_large_or_damaged(folder, tmp_path, monkeypatch):
    path = tmp_path / "x.onnx"
    monkeypatch.setattr(write_model_files, "LARGEST_INSIDE", 50)
    with pytest.raises(CgruError, match=r"--one-file: .* take 79 bytes, and at most 50 fit"):
        run(str(folder / "model.npz"), str(path), ConvertOptions(one_file=True))
    assert not path.exists()
    monkeypatch.undo()
    run(str(folder / "model.npz"), str(path), ConvertOptions(one_file=True))
    graph = onnx.load(path)
    (entry,) = (entry for entry in graph.metadata_props if entry.key == "cgru")
    entry.value = re.sub(r'("vocab.json": ")[^"]*', r"\1AAAAA", entry.value)
    onnx.save(graph, path)
    with pytest.raises(CgruError, match=r"x\.onnx/vocab\.json: damaged"):
        read(path)
