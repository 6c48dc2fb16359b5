"""Defaults of `cgru train` that follow from the training data."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import runs
import yaml

from cgru_cli.formats import read_model
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.data_defaults import defaults_by_data


def chosen(pairs, words=20, **stated):
    """The values chosen for a corpus of sentences of so many words."""

    class Corpus(SimpleNamespace):
        __len__ = lambda self: pairs  # noqa: E731

    corpus = Corpus(lengths=np.full((pairs, 2), words, np.int32))
    return defaults_by_data(TrainOptions(**stated), stated, corpus)


@pytest.mark.parametrize(
    ("pairs", "frequency"),
    [(50_000, "1e"), (300_000, "1000u"), (3_000_000, "3000u")],
)
def test_validation_comes_every_epoch_or_ten_times_in_a_long_one(pairs, frequency):
    assert chosen(pairs, mini_batch_words=2000)["valid_freq"] == frequency


def test_validation_is_greedy_on_some_lines():
    values = chosen(100)
    assert (values["valid_beam_size"], values["valid_lines"]) == (1, 500)
    assert "valid_beam_size" not in chosen(100, beam_size=3)
    assert "valid_lines" not in chosen(100, valid_lines=0)
    for needed in ("valid_translation_output", "valid_script"):
        assert "valid_lines" not in chosen(100, **{needed: "x"})


def test_choices_are_recorded_and_hold_when_a_run_resumes(tmp_path):
    """The text that resumes is 500 times as long, and would be validated on otherwise."""
    data = runs.prepared(tmp_path / "data")
    model = tmp_path / "m.npz"
    options = (data, "-m", model, *runs.PLAIN[2:], "--keep", 2)
    dump = ("--dump-config", "full")
    before = yaml.safe_load(runs.trained(*options, *dump).output)
    assert before["valid-freq"] is None and before["valid-lines"] is None
    messages = runs.trained(*options, "--after", "9u").messages
    assert "] Validation took " in messages and "(limit 3%)" in messages
    state = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())
    values = {"valid_freq": "1e", "valid_beam_size": 1, "valid_lines": 500}
    assert state["chosen"].items() >= values.items()
    assert read_model.read(model).settings.beam_size == 5  # greedy search is for validation only
    grown = runs.prepared(tmp_path / "grown", pairs=30_000)
    for side in ("src", "trg"):
        shutil.copy(data / f"dev.{side}", grown)
    again = (grown, *options[1:], "--no-restore-corpus", "--after", "10u", "--disp-freq", "1u")
    runs.trained(*again)
    state = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())
    assert state["chosen"].items() >= values.items()
    after = yaml.safe_load(runs.trained(*options, *dump, "--valid-lines", 9).output)
    assert after["valid-freq"] == "1e" and after["valid-lines"] == 9


def test_a_damaged_record_is_refused(tmp_path):
    model = tmp_path / "m.npz"
    text = json.dumps({"format": 1, "arrays": [], "chosen": {"valid_lines": "x"}}).encode()
    np.savez(tmp_path / "m.npz.state.npz", json=np.frombuffer(text, np.uint8))
    result = runs.train("-m", model, "--dump-config")
    assert result.code == 1 and "m.npz.state.npz: damaged: chosen: valid_lines: x" in result.error


@pytest.mark.parametrize("options", [("--defaults", "fixed"), ("--compat", "nematus")])
def test_fixed_defaults(options, tmp_path):
    dumped = runs.trained("-m", tmp_path / "m.npz", *options, "--dump-config").output
    values = yaml.safe_load(dumped)
    assert values["valid-lines"] == 0 and values["valid-freq"] in ("1e", "10000")
