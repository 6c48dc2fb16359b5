"""Models in ONNX files: commands compute them without TensorFlow, and read them back."""

import gzip
import json
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from cases import random_arrays
from models import typed
from tolerances import LOG_PROBABILITY

from cgru_cli import CgruError, PairScorer, Translator, UsageError, load_model, write_model
from cgru_cli.convert.job import run
from cgru_cli.formats import write_model as write_model_files
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read
from cgru_cli.options.convert import ConvertOptions
from cgru_cli.parameters.structure import Encoder, Type
from cgru_cli.search.computed import take_over
from cgru_cli.search.onnx_model import OnnxModel
from cgru_cli.system import versions
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing

pytestmark = pytest.mark.long


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


def cgru(folder, *arguments, given="a b c\n\nd e\n"):
    """A command in a process of its own that fails where TensorFlow is imported."""
    script = (
        "import sys; sys.modules['tensorflow'] = sys.modules['keras'] = None; "
        "sys.modules['h5py'] = sys.modules['sacrebleu'] = None; "
        "from cgru_cli.__main__ import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=300,
    )


@pytest.mark.long
def test_commands_compute_without_tensorflow(folder):
    own = load_model(folder / "model.npz")
    expected = Translator(own, beam_size=3).translate(["a b c", "d e"])
    for name in ("model.onnx", "int8.onnx"):
        done = cgru(folder, "translate", "-m", name, "--beam-size", "3", "--quiet")
        assert done.returncode == 0, done.stderr
        if name == "model.onnx":
            lines = [" ".join(one.tokens) for one in expected]
            assert done.stdout == f"{lines[0]}\n\n{lines[1]}\n"
    pair = "a b c", "d e f"
    (scored,) = PairScorer(own).score([pair])
    given = "\t".join(pair) + "\n"
    done = cgru(folder, "score", "-m", "model.onnx", given=given)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) == pytest.approx(scored.score, abs=4 * LOG_PROBABILITY)


def test_a_file_is_read_back_bit_for_bit(folder):
    model, back = read(folder / "model.npz"), read(folder / "model.onnx")
    assert back.structure == model.structure and back.container == "onnx"
    assert all((back.arrays[name] == array).all() for name, array in model.arrays.items())
    run(str(folder / "model.onnx"), str(folder / "back.npz"), ConvertOptions())
    assert (folder / "back.npz").read_bytes() == (folder / "model.npz").read_bytes()


def test_a_model_without_its_arrays_is_not_written(folder, tmp_path):
    with pytest.raises(CgruError, match="without its arrays; "):
        write_model(load_model(folder / "model.onnx"), tmp_path / "x.npz")
    assert not (tmp_path / "x.npz").exists()


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


def test_an_int8_file_of_cgru_0_2_gets_one_line_where_its_sums_overflow(
    folder, tmp_path, monkeypatch, capsys
):
    graph = onnx.load(folder / "int8.onnx")
    (entry,) = (entry for entry in graph.metadata_props if entry.key == "cgru")
    stated = json.loads(entry.value)
    assert stated.pop("largest_weight") == 64
    entry.value = json.dumps(stated)  # as cgru 0.2 wrote it
    onnx.save(graph, tmp_path / "old.onnx")
    flags = tmp_path / "cpuinfo"
    monkeypatch.setattr(versions, "PROCESSOR", str(flags))
    for has, warned in (("avx2", True), ("avx2 avx_vnni", False)):
        flags.write_text(f"flags : {has}\n")
        for path in (folder / "int8.onnx", folder / "model.onnx"):
            read(path, "auto")
        assert capsys.readouterr().err == ""
        read(tmp_path / "old.onnx", "auto")
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == warned and all("convert the original" in line for line in lines)


def test_threads_and_workspace_hold(folder, monkeypatch):
    """The number of threads is that of --cpu-threads; batches fit into --workspace."""

    def threads(count):
        before = len(os.listdir("/proc/self/task"))
        model = take_over(load_model(folder / "model.onnx").model, threads=count)
        return model, len(os.listdir("/proc/self/task")) - before

    assert threads(4)[1] - threads(1)[1] == 3
    sizes = {}
    encode = OnnxModel.encode
    for workspace in (1, 64):
        monkeypatch.setattr(
            OnnxModel,
            "encode",
            lambda self, sources, w=workspace: (
                sizes.setdefault(w, []).append(sources[0][0].shape[0]) or encode(self, sources)
            ),
        )
        options = {"workspace": workspace, "mini_batch": 500, "translation_maxlen": 1}
        Translator(str(folder / "model.onnx"), **options).translate(
            ["a b c d e f g a b c d e"] * 500
        )
    assert max(sizes[1]) < 250 and max(sizes[64]) == 500


@pytest.mark.long
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
    for runtime in ("auto", "tensorflow"):
        with pytest.raises(CgruError, match=message):
            read(path, runtime)


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


@pytest.mark.long
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
    done = cgru(tmp_path, "translate", "-m", "x.onnx", "--quiet", given="A B C\n")
    (expected,) = Translator(str(folder / "model.npz")).translate(["a b c"])
    assert (done.returncode, done.stdout) == (0, " ".join(expected.tokens) + "\n"), done.stderr
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


@pytest.mark.long
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


def test_options_that_onnx_runtime_lacks(folder):
    for option, value in (("--device", "gpu"), ("--precision", "bfloat16")):
        done = cgru(folder, "translate", "-m", "model.onnx", option, value)
        assert done.returncode == 2 and option in done.stderr and not done.stdout


def test_runtime_chooses_the_library(folder):
    from cgru_cli.network.network import Network

    for name, runtime, kind in (
        ("model.onnx", "auto", OnnxModel),
        ("model.onnx", "tensorflow", Network),
        ("model.npz", "auto", Network),
        ("model.npz", "onnx", OnnxModel),
    ):
        assert isinstance(take_over(load_model(folder / name, (), runtime).model), kind)
