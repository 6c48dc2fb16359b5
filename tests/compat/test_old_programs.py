"""The folder of programs with old names: what is in it, and what each of them calls."""

import importlib.util
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cgru_cli.cli import main
from cgru_cli.compat import old_programs

pytestmark = pytest.mark.long


ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = old_programs.programs()
PYTHON = {path: command for path, command in PROGRAMS.items() if path.endswith(".py")}
SHELL = {path: command for path, command in PROGRAMS.items() if path not in PYTHON}
CGRU = [sys.executable, "-P", "-m", "cgru_cli"]


def write(folder, *options):
    return CliRunner().invoke(main, ["old-programs", str(folder), *options])


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder")  # folders may have a space
    done = write(folder)
    assert done.exit_code == 0, done.stderr
    assert f"nematus={folder}/nematus-tf" in done.stderr
    return folder


@pytest.fixture
def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def test_names_are_those_of_the_programs(programs):
    """Names in the scripts of marian-examples, wmt16-scripts, Nematus' tests and DL4MT."""
    named = [
        "marian", "marian-decoder", "marian-scorer", "marian-vocab", "amun", "build/marian",
        "build/marian-decoder", "build/marian-scorer", "build/marian-vocab", "build/amun",
        "nematus/nmt.py", "nematus/train.py", "nematus/translate.py", "nematus/score.py",
        "nematus/rescore.py", "data/build_dictionary.py", "nematus-tf/nematus/train.py",
        "nematus-tf/nematus/translate.py", "nematus-tf/nematus/score.py",
        "nematus-tf/nematus/rescore.py", "nematus-tf/data/build_dictionary.py",
        "dl4mt/session2/translate.py", "dl4mt/session3/translate.py", "dl4mt/session1/nmt.py",
        "dl4mt/session0/lm.py", "bin/amun", "build/bin/amun", "build/s2s",
        "dl4mt/data/build_dictionary.py", "dl4mt/session3/rescore_with_lm.py",
    ]  # fmt: skip
    for name in named:
        assert os.access(programs / name, os.X_OK), name


@pytest.mark.parametrize("path", PYTHON)
def test_programs_of_python_call_cgru(programs, path, monkeypatch):
    called = []
    monkeypatch.setattr(os, "execv", lambda file, words: called.append((file, words)))
    monkeypatch.setattr(sys, "argv", [str(programs / path), "-m", "a b", "-n"])
    runpy.run_path(str(programs / path), run_name="__main__")
    assert called == [(sys.executable, [*CGRU, *PYTHON[path], "-m", "a b", "-n"])]


@pytest.mark.parametrize(
    ("path", "arguments", "expected"),
    [(path, ["-i", "a b"], (*command, "-i", "a b")) for path, command in SHELL.items()]
    + [
        ("marian", ["decode", "-b", "6"], ("translate", "--compat", "marian", "-b", "6")),
        ("marian", ["train", "--type", "s2s"], ("train", "--compat", "marian", "--type", "s2s")),
        ("marian", [], ("train", "--compat", "marian")),
    ],
)
def test_programs_of_the_shell_call_cgru(programs, path, arguments, expected, tmp_path):
    """A program that prints its arguments replaces Python."""
    printer = tmp_path / "python"
    printer.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    printer.chmod(0o755)
    text = (programs / path).read_text().replace(sys.executable, str(printer))
    script = tmp_path / "script"
    script.write_text(text)
    done = subprocess.run(["sh", script, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*CGRU[1:], *expected]


def test_script_makes_vocabularies_with_only_a_path_changed(programs, environment, tmp_path):
    """The helpers of wmt16-scripts, DL4MT and marian-examples, called as in their scripts."""
    for name in ("nmt.py", "click.py", "corpus"):  # modules in the current folder are not imported
        (tmp_path / name).write_text("b a\na\n")
    script = tmp_path / "script.sh"
    script.write_text(
        "set -e\n"
        "cat corpus | $MARIAN/build/marian-vocab --max-size 3 > vocab.yml\n"
        "$nematus/data/build_dictionary.py corpus\n"
        "export THEANO_FLAGS=mode=FAST_RUN,floatX=float32,device=gpu,on_unused_input=warn\n"
        "PYTHON=python3; $PYTHON $P1/build_dictionary.py corpus\n"
    )
    paths = {"MARIAN": programs, "nematus": programs, "P1": programs / "dl4mt/data"}
    paths = {name: str(path) for name, path in paths.items()}
    text = script.read_text()
    for name in paths:  # the folder has a space in its name
        text = text.replace(f"${name}/", f'"${name}"/')
    script.write_text(text)
    done = subprocess.run(
        ["sh", script], cwd=tmp_path, env=environment | paths, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert (tmp_path / "vocab.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2"
    assert json.loads((tmp_path / "corpus.json").read_text()) == {
        "eos": 0,
        "UNK": 1,
        "a": 2,
        "b": 3,
    }
    assert (tmp_path / "corpus.pkl").exists()


def test_programs_run_under_python_2(programs):
    """No annotations, f-strings, keyword-only arguments, walrus operators or nonlocal."""
    for path in PYTHON:
        text = (programs / path).read_text()
        assert text.isascii()
        for token in (" f'", ' f"', "->", ":=", "nonlocal", "raise SystemExit from", "(*,"):
            assert token not in text


def load(path):
    spec = importlib.util.spec_from_file_location("nmt", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_train_is_called_with_nematus_keyword_arguments(programs, monkeypatch):
    """wmt16-scripts' sample/config.py: `from nematus.nmt import train`."""
    module = load(programs / "nematus/nmt.py")
    called = []
    monkeypatch.setattr(subprocess, "call", lambda words: called.append(words) or 0)
    module.train(
        saveto="model/model.npz", reload_=True, dim_word=500, n_words=90000, decay_c=0.0,
        datasets=["corpus.bpe.ro", "corpus.bpe.en"], use_dropout=False, overwrite=False,
        external_validation_script="./validate.sh", shuffle_each_epoch=False, sort_by_length=True,
        prior_model=None, batch_size=80,
    )  # fmt: skip
    (words,) = called
    assert words[:7] == [*CGRU, "train", "--compat", "nematus"]
    assert words[7:] == [
        "--batch_size", "80", "--clip_c", "-1", "--datasets", "corpus.bpe.ro", "corpus.bpe.en",
        "--decay_c", "0.0", "--dim_word", "500", "--external_validation_script", "./validate.sh",
        "--n_words", "90000", "--reload", "--model", "model/model.npz", "--no_shuffle",
        "--valid_batch_size", "16",
    ]  # fmt: skip
    monkeypatch.setattr(subprocess, "call", lambda words: 3)
    with pytest.raises(SystemExit) as ended:
        module.train(saveto="model.npz")
    assert ended.value.code == 3


def test_dl4mts_train_leaves_defaults_to_its_compat(programs):
    module = load(programs / "dl4mt/session2/nmt.py")
    assert module.CGRU[-3:] == ["train", "--compat", "dl4mt"]
    assert module.arguments_of({"dim": 1024, "reload_": False}) == ["--dim", "1024"]


def test_own_files_are_replaced_and_others_are_not(tmp_path):
    folder = tmp_path / "programs"
    assert write(folder, "--quiet").stderr == ""
    (folder / "marian").write_text("old\nwritten by `cgru old-programs`\n")
    assert write(folder).exit_code == 0
    assert "exec" in (folder / "marian").read_text()
    (folder / "amun").write_bytes(b"\x7fELF")
    (folder / "marian").write_text("written by `cgru old-programs`")
    done = write(folder)
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"cgru: {folder}/amun: not a file of cgru; name another folder, or use --force\n"
    )
    assert "exec" not in (folder / "marian").read_text(), "nothing was written"
    assert write(folder, "--force").exit_code == 0
    assert "exec" in (folder / "amun").read_text()


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    done = write(tmp_path / "file")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1 and "cannot be" in done.stderr
