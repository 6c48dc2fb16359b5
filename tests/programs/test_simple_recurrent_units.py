"""SRU and SSRU: cgru computes Marian's models as Marian does, or refuses them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays
from click.testing import CliRunner
from commands import in_process, output_lines
from models import simple_units
from selection import LONG, choice

from cgru_cli.cli import main
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.read_model import read
from cgru_cli.parameters.cells import impossible
from cgru_cli.parameters.structure import Type, Unit

DATA = Path(__file__).parents[1] / "data/sru"
MODELS = ["ssru", "ssru-deep", "sru", "encoder"]
DECODE = "-b 5 --n-best --normalize 1 --max-length-factor 2 --allow-unk".split()


def convert(*arguments):
    return CliRunner().invoke(main, ["convert", *map(str, arguments)])


def vocabularies(name):
    return ["-v", DATA / name / "vocab.en.yml", DATA / name / "vocab.de.yml"]


def scores(path, name, folder):
    run = output_lines(in_process("score", folder))
    texts = ["-t", DATA / "test.en", DATA / "test.de"]
    lines = run("-m", path, *texts, *vocabularies(name), "--compat", "marian")
    return [float(line) for line in lines]


def expected_scores(name):
    return [float(line) for line in (DATA / name / "scores.txt").read_text().split()]


def translate(path, name, folder):
    run = output_lines(in_process("translate", folder))
    command = ["-m", path, *vocabularies(name), "-i", DATA / "test.en", "--compat", "marian"]
    return n_best(run(*command, *DECODE, "--quiet", "--quiet-translation"))


def n_best(lines):
    """Numbers and texts of the hypotheses, and their scores."""
    parts = [line.split(" ||| ") for line in lines]
    return [part[:2] for part in parts], [float(part[3]) for part in parts]


@pytest.mark.parametrize("name", choice(MODELS, "ssru-deep", "sru", others=LONG))
def test_scores_and_lists_are_marians(name, tmp_path):
    path = DATA / name / "model.npz"
    assert scores(path, name, tmp_path) == pytest.approx(expected_scores(name), abs=1e-5)
    texts, totals = translate(path, name, tmp_path)
    expected, expected_totals = n_best((DATA / name / "nbest.txt").read_text().splitlines())
    assert texts == expected
    assert totals == pytest.approx(expected_totals, abs=2e-5)  # Marian prints five digits


@pytest.mark.parametrize("name", MODELS)
def test_marian_files_survive_a_conversion_and_back(name, tmp_path):
    model = read(DATA / name / "model.npz")
    own, back = tmp_path / "own.npz", tmp_path / "model.npz"
    words = model_vocabularies.find(model, list(map(str, vocabularies(name)[1:])))
    write_model.write(model, own, "npz", words)
    write_model.write(read(own), back, "marian-s2s", [])
    with np.load(DATA / name / "model.npz") as before, np.load(back) as after:
        assert set(before) == set(after)
        for array in set(before) - {"special:model.yml"}:
            np.testing.assert_array_equal(before[array], after[array])
        said = bytes(after["special:model.yml"]).decode()
    assert f"dec-cell: {model.structure.decoder_unit.value}\n" in said


def test_a_file_without_its_configuration_is_read(tmp_path):
    for name in MODELS:
        with np.load(DATA / name / "model.npz") as file:
            arrays = {key: file[key] for key in file if not key.startswith("special:")}
        path = tmp_path / f"{name}.npz"
        np.savez(path, **arrays)
        expected, found = read(DATA / name / "model.npz").structure, read(path).structure
        assert (found.encoder_unit, found.decoder_unit, found.decoder_base_transition) == (
            expected.encoder_unit,
            expected.decoder_unit,
            1,
        )


def test_marian_computes_what_cgru_writes(tmp_path):
    pytest.importorskip("pymarian")
    model = read(DATA / "sru/model.npz")
    write_model.write(model, tmp_path / "model.npz", "marian-s2s", [])
    program = Path(sys.executable).with_name("pymarian")
    command = [program, "score", "-m", tmp_path / "model.npz", *vocabularies("sru")]
    command += ["-t", DATA / "test.en", DATA / "test.de", "--cpu-threads", "1", "--quiet"]
    result = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    assert result.stdout == (DATA / "sru/scores.txt").read_text()


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param("encoder", marks=pytest.mark.exhaustive), "sru"])
def test_onnx_computes_them(name, tmp_path):
    path = tmp_path / "model.onnx"
    assert convert(DATA / name / "model.npz", path).exit_code == 0
    assert scores(path, name, tmp_path) == pytest.approx(expected_scores(name), abs=1e-5)
    texts, _ = translate(path, name, tmp_path)
    assert texts == n_best((DATA / name / "nbest.txt").read_text().splitlines())[0]


REFUSED = [
    ({"encoder_transition": 2}, "cells need an input"),
    ({"decoder_base_transition": 3}, "cells need an input"),
    ({"decoder_depth": 2, "decoder_high_transition": 2}, "cells need an input"),
    ({"encoder_unit": Unit.GRU, "decoder_unit": Unit.SRU}, "as wide as its state"),
    ({"decoder_unit": Unit.GRU, "encoder_unit": Unit.SRU, "source_embeddings": (5,)}, "as wide"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_impossible_cells_are_refused(changes, message):
    assert message in impossible(simple_units(Type.CGRU, Unit.SSRU, **changes))


def test_a_damaged_description_is_one_line(tmp_path):
    possible = simple_units(Type.CGRU, Unit.SSRU)
    assert impossible(possible) == ""
    model = read(DATA / "ssru/model.npz")
    model.structure, model.arrays = possible, random_arrays(possible)
    path = tmp_path / "m.npz"
    write_model.write(model, path, "npz", [])
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    configuration = path.with_name("m.npz.json")
    text = configuration.read_text()
    assert '"encoder_transition": 1' in text
    configuration.write_text(text.replace('"encoder_transition": 1', '"encoder_transition": 2'))
    np.savez(path, **arrays)
    result = convert("--info", path)
    assert result.exit_code == 1
    assert "need an input" in result.stderr
    assert result.stderr.count("\n") == 1
