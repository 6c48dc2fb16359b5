"""The steps before training: the files that a run keeps, and --copy."""

import contextlib
import json
from types import SimpleNamespace

import pytest
from runs import PLAIN, lines, prepared, train, trained, vocabulary

from cgru_cli.corpus.corpus import MANIFEST
from cgru_cli.options.train import TrainOptions
from cgru_cli.text.copying import PLACEHOLDERS
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.train.plan import Request
from cgru_cli.train.run.saving import Saving
from cgru_cli.train.setup import read_inputs

NUMBERS = "number"


@pytest.fixture
def copies(tmp_path):
    """Arguments of `cgru train` with numbers in the text and placeholders in the vocabularies."""
    words = [*"abc", *PLACEHOLDERS[:2]]
    text = [f"a {i} b {i + 1}" for i in range(20)]
    files = [lines(tmp_path / f"t.{side}", text) for side in ("src", "trg")]
    sides = [vocabulary(tmp_path / f"v.{side}.json", words) for side in ("src", "trg")]
    return ["-t", *files, "-v", *sides, "-m", tmp_path / "run/m.npz", *PLAIN, "--valid-freq", 0]


def patterns(tmp_path):
    return Preprocessing.read(tmp_path / "run/m.npz.preprocess.json").settings.copy


@pytest.mark.long
def test_the_patterns_are_recorded_with_the_model(copies, tmp_path):
    trained(*copies, "--copy", NUMBERS, "--after", "1u")
    assert patterns(tmp_path) == (NUMBERS,)
    trained(*copies, "--copy", NUMBERS, "--after", "2u")


def test_a_refused_command_changes_no_file(copies, tmp_path):
    trained(*copies, "--copy", NUMBERS, "--after", "1u")
    saved = sorted((tmp_path / "run").glob("m.npz*"))
    saved = [path for path in saved if path.is_file() and path.suffix not in (".log", ".lock")]
    before = [path.read_bytes() for path in saved]
    assert "training text was " in train(*copies, "--copy", "url", "--after", "2u").error
    assert [path.read_bytes() for path in saved] == before and patterns(tmp_path) == (NUMBERS,)


def test_the_log_says_that_text_of_an_earlier_version_is_encoded_again(copies, tmp_path):
    cache = tmp_path / "run/m.npz.corpus"
    for after in ("1u", "2u", "3u"):
        trained(*copies, "--copy", NUMBERS, "--after", after)
        if after == "1u":
            (cache / MANIFEST).write_text(json.dumps({"identity": {"format": 2}}))
    line = f"The text was encoded again: an earlier version of cgru wrote {cache}"
    assert (tmp_path / "run/m.npz.log").read_text().count(line) == 1


def test_words_of_replaced_spans_have_no_weights(copies, tmp_path):
    weights = lines(tmp_path / "weights", ["1 1 1 1"] * 20)
    given = ("--data-weighting", weights, "--data-weighting-type", "word", "--after", "1u")
    trained(*copies, *given, "--dry-run")
    result = train(*copies, *given, "--copy", NUMBERS)
    assert result.code == 2 and "--copy and --data-weighting-type word" in result.error


def test_vocabularies_without_placeholders_are_refused(copies, tmp_path):
    (tmp_path / "v.trg.json").write_text(json.dumps({"eos": 0, "UNK": 1, "a": 2}))
    result = train(*copies, "--copy", NUMBERS, "--after", "1u")
    assert result.code == 2 and "the vocabularies have no placeholders" in result.error


def test_a_folder_that_is_prepared_again_changes_no_running_training(tmp_path):
    data, model = prepared(tmp_path / "data"), tmp_path / "run/m.npz"
    names = {"vocab.src.json": "vocab.src.json", "preprocess.json": "m.npz.preprocess.json"}
    settings = Preprocessing(PipelineSettings()).as_json()
    (data / "preprocess.json").write_text(json.dumps(settings))
    before = {kept: (data / name).read_bytes() for name, kept in names.items()}
    with contextlib.ExitStack() as stack:
        options = TrainOptions(model=str(model), dim_emb=6, dim_rnn=8)
        setup = read_inputs(Request(options, data=str(data)), stack)
        vocabulary(data / "vocab.src.json", ["other", "words"])
        (data / "preprocess.json").unlink()
        step = SimpleNamespace(weights=lambda: setup.model.arrays)
        Saving(setup, step, {}, log=None).write(model)
    assert {name: (model.parent / name).read_bytes() for name in before} == before
