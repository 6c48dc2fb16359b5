"""Unusual input from outside: each ends with one line."""

import os
import re
from pathlib import Path

import click
import pytest
from bombs import refused

import cgru_cli
from cgru_cli.cli import main
from cgru_cli.corpus import data_weights
from cgru_cli.errors import UsageError
from cgru_cli.formats.read_model import read
from cgru_cli.formats.shortlist import Shortlist
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options import config_file, kinds
from cgru_cli.options.train import TrainOptions
from cgru_cli.prep import raw_text
from cgru_cli.score.n_best import entry
from cgru_cli.system.structured_files import parse_yaml, read_json, read_yaml
from cgru_cli.text import labels
from cgru_cli.text.subwords import read_codes
from cgru_cli.text.unknown_words import read_lexicon
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.texts import Texts

pytestmark = pytest.mark.long


@pytest.mark.parametrize("reader", [read, read_vocabulary])
def test_a_pipe_without_a_writer(reader, tmp_path):
    os.mkfifo(tmp_path / "x.npz")
    assert "is a pipe or a device" in refused(reader, tmp_path / "x.npz")


def test_a_text_whose_name_is_not_utf8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with open(path, "w"):
        pass
    assert "its name is not UTF-8" in refused(raw_text.check, path)


@pytest.mark.parametrize("reader", [read, read_vocabulary, Shortlist.read, read_json, read_yaml])
def test_a_device_is_not_read(reader):
    vocabularies = [None, None] if reader == Shortlist.read else []
    message = refused(reader, Path("/dev/zero"), *vocabularies, seconds=1, mebibytes=30)
    assert message == "/dev/zero: is a pipe or a device, and it is read more than once; name a file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("reader", [config_file.load, read_codes, read_lexicon])
def test_a_device_without_end(reader, device):
    assert refused(reader, device, seconds=5, mebibytes=300).startswith(device)


@pytest.mark.parametrize("number", ["1_0", "-1_0", "1_0.5", "1.0_0"])
def test_numbers_that_only_yaml_reads(number):
    assert f"{number} is a number in YAML" in refused(parse_yaml, f"beam-size: {number}\n", "x")
    assert parse_yaml(f"model: '{number}'\n", "x") == {"model": number}
    assert parse_yaml("model: 1_a\nname: m_1\n", "x") == {"model": "1_a", "name": "m_1"}


def test_a_device_is_no_training_text(tmp_path):
    (tmp_path / "v.json").write_text('{"eos": 0, "UNK": 1}')
    words = [str(tmp_path / "v.json")] * 2
    options = TrainOptions(train_sets=("/dev/urandom",) * 2, vocabularies=tuple(words))
    message = refused(Texts.of, options, None, seconds=5, mebibytes=300)
    assert message == "/dev/urandom: is a device, which may never end; name a file"


@pytest.mark.parametrize("number", ["1_0", "\u0661"])
def test_numbers_that_only_python_reads(number, tmp_path):
    (tmp_path / "x").write_text(f"a b {number}\n", "utf-8")
    vocabulary = Vocabulary({"</s>": 0, "a": 2}, "v")
    assert "x:1: expected" in refused(read_lexicon, tmp_path / "x")
    assert "x:1: expected" in refused(Shortlist.read, str(tmp_path / "x"), vocabulary, vocabulary)
    assert "is not a number" in refused(data_weights.parse_sentence, number)
    assert "is not a number" in refused(labels.condition_columns, number, [], 1)
    assert "not an entry" in refused(entry.parse, f"{number} ||| a")
    assert "not a finite number" in refused(entry.parse, f"0 ||| a ||| f= {number}")
    with pytest.raises(ValueError):
        kinds.shortlist(["FILE", number])
    for option in ("-k", "--normalize"):
        with pytest.raises((UsageError, click.UsageError)):
            words = ["-m", "m", option, number]
            main.commands["translate"].make_context("translate", words)


def test_a_pipe_that_is_read_once(tmp_path):
    for reader, content in ((config_file.load, b"beam-size: 3\n"), (read_codes, b"a b\n")):
        reading, writing = os.pipe()
        os.write(writing, content)
        os.close(writing)
        (tmp_path / "x").write_bytes(content)
        given, from_file = reader(f"/dev/fd/{reading}"), reader(str(tmp_path / "x"))
        os.close(reading)
        assert given[-1:] == from_file[-1:]


def test_a_clock_that_is_set_back_changes_no_duration():
    package = Path(cgru_cli.__file__).parent
    wall = re.compile(r"\btime\.time(_ns)?\b|from time import .*\btime\b|datetime\.now")
    assert [p for p in package.rglob("*.py") if wall.search(p.read_text())] == []
