"""`cgru convert`: what it prints, writes, compares, averages and refuses."""

import json
import os
import shutil
import signal
import subprocess
import sys

import click.testing
import numpy as np
import pytest
from cases import random_arrays, small_structure
from shared_files import fixture_path

from cgru_cli.cli import main
from cgru_cli.convert import job
from cgru_cli.errors import CgruError
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read


def run(*arguments):
    """The result of the command line."""
    return click.testing.CliRunner().invoke(main, ["convert", *map(str, arguments)])


def vocabulary(path, count):
    """A Nematus vocabulary with this many words."""
    words = ["eos", "UNK", *(f"w{i}" for i in range(2, count))]
    path.write_text(json.dumps({word: i for i, word in enumerate(words)}))
    return path


@pytest.fixture
def model(tmp_path):
    """The path of a small model with its vocabularies."""
    folder = tmp_path / "in"
    folder.mkdir()
    structure = small_structure()
    names = [vocabulary(folder / "src.json", 11), vocabulary(folder / "trg.json", 13)]
    small = Model(folder / "x", structure, random_arrays(structure), "nematus")
    small.settings.vocabularies = [name.name for name in names]
    write_model.write(small, folder / "model.npz", "nematus")
    return folder / "model.npz"


def test_info(model):
    result = run(model, "--info")
    assert result.exit_code == 0 and "decoder_Wcx" not in result.stdout
    assert "src.json" in result.stdout
    result = run(model, "--info", "--arrays")
    assert "decoder_Wcx" in result.stdout and "8 x 4" in result.stdout
    description = json.loads(run(model, "--info", "--json").stdout)
    assert description["program"] == "nematus" and description["structure"]["state"] == 4
    shapes = {array["name"]: tuple(array["shape"]) for array in description["arrays"]}
    assert shapes == {name: array.shape for name, array in read(model).arrays.items()}
    assert description["parameters"] == sum(int(np.prod(shape)) for shape in shapes.values())
    assert [v["words"] for v in description["vocabularies"]] == [11, 13]


def test_info_shows_the_directions_of_reading_and_writing(model):
    rows = {(False, False): [], (True, False): ["writes"], (True, True): ["writes", "reads"]}
    for (right_left, source_reversed), names in rows.items():
        made = read(model)
        made.settings.right_left, made.settings.source_reversed = right_left, source_reversed
        path = model.with_name(f"{len(names)}.npz")
        write_model.write(made, path, "npz")
        lines = map(str.split, run(path, "--info").stdout.splitlines())
        assert [name for name, *value in lines if value == ["from", "the", "end"]] == names
        description = json.loads(run(path, "--info", "--json").stdout)
        assert description["right_left"] is right_left
        assert description["source_reversed"] is source_reversed


def test_info_without_vocabularies(model):
    (model.parent / "src.json").unlink()
    description = json.loads(run(model, "--info", "--json").stdout)
    assert description["vocabularies"] == [] and "src.json" in description["vocabulary_error"]
    named = run(model, "--info", "-v", "nowhere.json", "nowhere.json")
    assert named.exit_code == 1 and "nowhere.json" in named.stderr


def test_several_models_make_a_page_only(model, tmp_path):
    result = run(model, model, tmp_path / "out.npz")
    assert result.exit_code == 2
    message = "several models IN require --to web; --average writes their mean"
    assert result.stderr == f"cgru: {message}\n"
    result = run(model, model, "--info")
    assert result.exit_code == 2 and "--info writes no model: omit OUT" in result.stderr


def test_vocabularies_are_copied(model, tmp_path):
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "model.npz"
    result = run(model, out, "--to", "marian-amun", "--verify", "-q")
    assert result.exit_code == 0 and not result.stderr
    names = {file.name for file in out.parent.iterdir()}
    assert names == {"model.npz", "model.npz.decoder.yml", "src.json", "trg.json"}
    shutil.rmtree(model.parent)
    assert [v.size for v in model_vocabularies.find(read(out))] == [11, 13]


def test_it_says_what_it_wrote(model, tmp_path):
    """Every file that appears is named, with format and comparison, and the next command works."""
    (tmp_path / "out").mkdir()
    formats = {"model.npz": "marian-amun", "other.h5": "h5", "model-1": "nematus-tf"}
    for name, to in formats.items():
        before, verified = set((tmp_path / "out").iterdir()), to == "h5"
        options = ["--to", to, *(["--verify"] if verified else [])]
        result = run(model, tmp_path / "out" / name, *options)
        assert result.exit_code == 0 and result.stdout == ""
        wrote, form, following = result.stderr.splitlines()
        new = set((tmp_path / "out").iterdir()) - before
        assert set(wrote.removeprefix("cgru: convert: wrote ").split(", ")) == set(map(str, new))
        assert form.startswith(f"cgru: convert: format {to}, ") and ("not" not in form) == verified
        assert following == f"cgru: convert: next: cgru translate -m {tmp_path / 'out' / name}"
        assert read(following.split(" ")[-1]).structure == read(model).structure


def test_a_warning_for_missing_vocabularies(model, tmp_path):
    (model.parent / "src.json").unlink()
    result = run(model, tmp_path / "out.npz")
    assert result.exit_code == 0 and "warning" in result.stderr and "-v SRC TRG" in result.stderr
    assert read(tmp_path / "out.npz").settings.vocabularies == ["src.json", "trg.json"]


@pytest.mark.parametrize("option", ["-v", "--vocabs", "--dictionaries"])
def test_vocabularies_of_the_command_line(model, tmp_path, option):
    mine = [vocabulary(tmp_path / "a.json", 11), vocabulary(tmp_path / "b.json", 13)]
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "model.h5"
    assert run(model, out, option, *mine).exit_code == 0
    assert read(out).settings.vocabularies == ["a.json", "b.json"]
    result = run(model, tmp_path / "x.npz", option, *reversed(mine))
    assert result.exit_code == 1 and "swapped" in result.stderr
    result = run(model, tmp_path / "x.npz", option, mine[0])
    assert result.exit_code == 1 and "2 vocabularies expected" in result.stderr
    result = run(model, tmp_path / "x.npz", option, mine[0], tmp_path / "none.json")
    assert result.exit_code == 1 and "none.json" in result.stderr
    assert not (tmp_path / "x.npz").exists()


def test_vocabularies_larger_and_smaller_than_the_matrix(model, capsys):
    for sizes in ((300, 500), (10, 12), (13, 300), (4, 13)):
        vocabulary(model.parent / "src.json", sizes[0])
        vocabulary(model.parent / "trg.json", sizes[1])
        found = model_vocabularies.find(read(model))
        assert [v.size for v in found] == [min(sizes[0], 11), min(sizes[1], 13)]
        assert ("of another model" in capsys.readouterr().err) == (sizes == (4, 13))


def test_vocabularies_of_the_configuration(model, tmp_path, monkeypatch, capsys):
    """They come from the model's folder; a warning names another one in the working directory."""
    monkeypatch.chdir(tmp_path)
    found = model_vocabularies.find(read(model))
    assert found[0].path == str(model.parent / "src.json")
    vocabulary(tmp_path / "src.json", 10)
    found = model_vocabularies.find(read(model))
    assert found[0].path == str(model.parent / "src.json")
    assert not capsys.readouterr().err
    configuration = model.with_name(model.name + ".json")
    values = json.loads(configuration.read_text())
    del values["cgru"]  # as the legacy program would have written it
    configuration.write_text(json.dumps(values))
    found = model_vocabularies.find(read(model))
    assert found[0].path == str(model.parent / "src.json")
    assert f"{model.parent / 'src.json'}: used, because it is beside" in capsys.readouterr().err
    (model.parent / "src.json").rename(model.parent / "gone")
    assert model_vocabularies.find(read(model))[0].path == "src.json"
    (model.parent / "gone").rename(model.parent / "src.json")
    assert not capsys.readouterr().err
    monkeypatch.chdir(model.parent)
    model_vocabularies.find(read(model))
    assert not capsys.readouterr().err


def test_one_file_for_both_sides(tmp_path):
    structure = small_structure(source_vocabularies=(13,), shared_embeddings=True, tied_output=True)
    joint = Model(tmp_path / "m.npz", structure, random_arrays(structure), "nematus")
    found = model_vocabularies.find(joint, [str(vocabulary(tmp_path / "v.json", 13))])
    assert len(found) == 2 and found[0].path == found[1].path


def test_average(model, tmp_path):
    first = read(model)
    others = []
    for seed in (1, 2):
        other = Model(model, first.structure, random_arrays(first.structure, seed), "nematus")
        write_model.write(other, tmp_path / f"m{seed}.h5", "h5")
        others.append(other)
    out = tmp_path / "mean.npz"
    result = run(model, out, "--average", tmp_path / "m1.h5", tmp_path / "m2.h5")
    assert result.exit_code == 0, result.stderr
    mean = read(out)
    for name, array in mean.arrays.items():
        every = [first.arrays[name], *(other.arrays[name] for other in others)]
        expected = np.mean(np.stack(every).astype(np.float64), axis=0).astype(np.float32)
        np.testing.assert_array_equal(array, expected)


def test_average_of_different_structures(model, tmp_path):
    structure = small_structure(state=5)
    other = Model(model, structure, random_arrays(structure), "nematus")
    write_model.write(other, tmp_path / "other.npz", "npz")
    result = run(model, tmp_path / "out.npz", "--average", tmp_path / "other.npz")
    assert result.exit_code == 1 and "state is 5, not 4" in result.stderr
    assert not (tmp_path / "out.npz").exists()


def test_verify_names_the_first_difference(model):
    one, other = read(model), read(model)
    job.verify(one, other)
    other.arrays["decoder_U"] = other.arrays["decoder_U"].copy()
    other.arrays["decoder_U"][0, 0] *= -1
    with pytest.raises(CgruError, match="in array decoder_U"):
        job.verify(one, other)


def test_usage(model, tmp_path):
    for arguments in (
        (model,),
        (model, tmp_path / "out"),
        (model, tmp_path / "out.npz", "--to", "h5"),
        (model, tmp_path / "out.npz", "--info"),
        (model, tmp_path / "out.npz", "--to", "nonsense"),
    ):
        assert run(*arguments).exit_code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def test_force(model, tmp_path):
    out = tmp_path / "out.npz"
    out.write_bytes(b"precious")
    result = run(model, out)
    assert result.exit_code == 1 and "--force" in result.stderr
    assert out.read_bytes() == b"precious"
    assert run(model, out, "--force", "--verify").exit_code == 0
    assert run(model, model, "--force").exit_code == 1


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(model, tmp_path, monkeypatch, signum, code):
    written = np.lib.format.write_array

    def interrupted(*arguments, **more):
        written(*arguments, **more)
        os.kill(os.getpid(), signum)

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    out = tmp_path / "out"
    out.mkdir()
    result = run(model, out / "m.npz")
    assert result.exit_code == code
    assert not [path for path in out.iterdir() if "npz" in path.name and path.suffix != ".json"]


def test_features_that_the_format_lacks_are_named(tmp_path):
    result = run(fixture_path("b-layernorm/model.npz"), tmp_path / "out.npz", "--to", "marian-amun")
    assert result.exit_code == 1
    assert "layer normalisation of Nematus" in result.stderr
    assert not list(tmp_path.iterdir())


def test_tensorflow_is_not_imported(model, tmp_path):
    script = (
        "import json, sys\n"
        "from cgru_cli.cli import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    try:\n        main(arguments)\n"
        "    except SystemExit as end:\n        assert not end.code, end.code\n"
        "loaded = {n.partition('.')[0] for n in sys.modules}\n"
        "assert not loaded & {'tensorflow', 'keras'}, loaded\n"
    )
    commands = (
        ["--help"],
        ["convert", "--help"],
        ["convert", model, "--info"],
        ["convert", model, tmp_path / "out.h5", "--verify"],
        ["convert", model, tmp_path / "out.npz", "--to", "marian-s2s", "--verify"],
        ["convert", model, tmp_path / "out.onnx", "--verify"],
        ["convert", model, tmp_path / "int8.onnx", "--precision", "int8", "--force"],
        ["convert", tmp_path / "int8.onnx", "--info"],
    )
    result = subprocess.run(
        [sys.executable, "-c", script, json.dumps(commands, default=str)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ending", ["npz", "h5", "onnx"])
def test_float16_is_stored_and_read_without_a_warning(model, ending):
    out = model.with_name(f"half.{ending}")
    result = run(model, out, "--store", "float16", "--verify", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = {name: array.astype("f2") for name, array in read(model).arrays.items()}
    if ending == "npz":
        with np.load(out) as stored:
            assert {n: stored[n].tobytes() for n in expected} == {
                n: array.tobytes() for n, array in expected.items()
            }
    found = read(out).arrays
    for name, array in expected.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array)
    result = run(out, "--info")
    assert (result.exit_code, result.stderr) == (0, "")
    back = model.with_name("back.npz")
    assert run(out, back, "--to", "nematus", "--verify").exit_code == 0
    with np.load(back) as stored:
        assert stored["Wemb"].dtype == np.float32


def test_float16_is_refused_for_programs_that_expect_float32(model):
    out = model.with_name("half.npz")
    result = run(model, out, "--to", "nematus", "--store", "float16")
    assert (
        result.exit_code == 2 and "--store and --to nematus" in result.stderr and not out.exists()
    )


def test_a_weight_too_large_for_float16_is_named(model):
    large = read(model)
    weights = large.arrays["ff_logit_W"] = large.arrays["ff_logit_W"].copy()
    weights[1, 2] = -7e4
    write_model.write(large, model.with_name("large.npz"), "npz")
    out = model.with_name("half.npz")
    result = run(model.with_name("large.npz"), out, "--store", "float16")
    assert result.exit_code == 1 and not out.exists()
    assert "ff_logit_W" in result.stderr and "70000" in result.stderr
