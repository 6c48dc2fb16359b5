"""The command line: completion, messages, and standard streams that are full, closed or gone."""

import os
import subprocess
import sys

import prepared
import pytest
import runs
from click.shell_completion import BashComplete
from click.testing import CliRunner
from commands import write_model
from selection import choice
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.formats import read_model
from cgru_cli.translate import job


def completed(*words):
    """The kind and the value of each completion of a line's last word, by bash."""
    *given, last = words
    complete = BashComplete(main, {}, "cgru", "_CGRU_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(list(given), last)]


@each_row(
    ("line", "kind"),
    [
        ("translate -m ", "file"), ("translate -m run/mo", "file"), ("translate -m A ", "file"),
        ("translate -i ", "file"), ("translate -o ", "file"), ("translate -v src.json ", "file"),
        ("translate --models=", "file"), ("translate --models A B ", "file"),
        ("score -s a -t ", "file"), ("score --n-best ", "file"), ("prep -s a b ", "file"),
        ("train -v src.json ", "file"), ("prep ", "dir"), ("train ", "dir"),
        ("train data -v ", "file"), ("convert ", "file"),
        ("convert a.npz ", "file"), ("convert a.npz b.npz --average ", "file"),
        ("translate --quiet -m A --n-best -v x ", "file"),
    ],
)  # fmt: skip
def test_names_of_files_and_folders_are_completed(line, kind):
    words = line.split(" ")
    ((given, _),) = completed(*words)
    assert given == kind


@each_row(
    ("line", "values"),
    [
        ("tr", ["train", "translate"]),
        ("train --optimizer ad", ["adam", "adamw", "adagrad", "adadelta"]),
        ("train --jit ", ["auto", "on", "off"]),
        ("train --max-length-", ["--max-length-crop"]),
        ("translate --max-length-", ["--max-length-factor"]),
        ("translate -m A --suppress", ["--suppress-unk"]),
        ("translate --shortlist x 5 --quie", ["--quiet", "--quiet-translation"]),
        ("translate -v --quie", ["--quiet", "--quiet-translation"]),
        ("translate --seed ", []),
    ],
)
def test_words_are_completed(line, values):
    assert [value for _, value in completed(*line.split(" "))] == values


def error_line(*arguments, code=2):
    result = CliRunner().invoke(main, list(arguments), prog_name="cgru")
    assert result.exit_code == code, result.stderr
    (line,) = result.stderr.splitlines()
    return line


@each_row(
    ("line", "message"),
    [
        ("translate -m", "-m lacks its value: -m MODEL..."),
        ("translate -v -m M", "-v lacks its value: -v SRC TRG is expected, and -m is an option"),
        ("translate -v --no-such", "-v lacks its value: -v SRC TRG is expected, and --no-such is"),
        ("translate -o --quiet", "-o lacks its value: -o FILE is expected, and --quiet is an"),
        ("translate -k", "-k lacks its value: -k K"),
        ("translate -m M -k 5 src", "src: unexpected argument; to translate a file, name it with"),
        ("score -m M -n 1 src trg", "src: unexpected argument; name the text with -s SRC -t TRG"),
        ("train a b", "b: unexpected argument; only one DATA can be given"),
        ("convert", "name a model: cgru convert IN OUT, or cgru convert IN --info"),
        ("train --optimizer adams", "--optimizer adams: one of adam, adamw,"),
    ],
)
def test_what_is_wrong_and_where_help_is(line, message):
    command = line.split(" ")[0]
    text = error_line(*line.split(" "))
    assert text.startswith(f"cgru: {message}") and text.endswith(f"(see cgru {command} --help)")


def test_a_text_after_the_models_is_no_model(tmp_path, monkeypatch):
    text = tmp_path / "src.txt"
    text.write_text("a b\n")
    monkeypatch.setattr(job, "run", lambda options: read_model.read(options.model[-1]))
    line = error_line("translate", "-m", "model.npz", str(text))
    assert line.startswith(f"cgru: {text}: not a model file")
    assert line.endswith("; to translate a file, name it with -i")
    assert "-i" not in error_line("translate", "-m", str(text), code=1)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CgruError("a\x1b[31m\nb"), "a\\x1b[31m\\nb"),
        (KeyError("x"), "internal error, KeyError: 'x' (CGRU_DEBUG=1 shows where)"),
        (MemoryError(), "there is not enough memory"),
        (OSError(28, "No space left on device", "/f"), "/f: No space left on device"),
    ],
)
def test_whatever_is_left_is_one_line(monkeypatch, error, message):
    def run(_options):
        raise error

    monkeypatch.setattr(job, "run", run)
    monkeypatch.delenv("CGRU_DEBUG", raising=False)
    assert error_line("translate", "-m", "M", code=1) == f"cgru: {message}"


def test_the_stack_is_shown_to_who_asks(monkeypatch):
    def run(_options):
        raise KeyError("x")

    monkeypatch.setattr(job, "run", run)
    monkeypatch.setenv("CGRU_DEBUG", "1")
    assert isinstance(CliRunner().invoke(main, ["translate", "-m", "M"]).exception, KeyError)


# --- standard streams ---------------------------------------------------------------------------


def shell(command, redirect=""):
    """A command in a shell, which redirects its streams: exit code and messages."""
    line = f'"$0" -m cgru_cli {command} {redirect}'
    done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "redirect", "code", "message"),
    [
        ("--help", ">/dev/full", 1, "cgru: standard output: cannot be written: No space left on"),
        ("--help", ">&-", 1, "cgru: standard output is closed\n"),
        ("--help", "2>/dev/full", 0, ""),
        ("--help", "2>&-", 0, ""),
        ("--version", ">/dev/full", 1, "cgru: standard output: cannot be written: No space left"),
        ("train --dump-config", ">/dev/full", 1, "cgru: standard output: cannot be written: No "),
        ("train --dump-config", ">&-", 1, "cgru: standard output is closed\n"),
        ("translate -k x", "2>/dev/full", 2, ""),
        ("translate -k x", "2>&-", 2, ""),
        ("translate -k x", ">&- 2>&-", 2, ""),
        ("convert no --info", ">/dev/full 2>&1", 1, ""),
    ],
)
def test_standard_streams(command, redirect, code, message):
    returned, messages = shell(command, redirect)
    assert returned == code
    assert messages.startswith(message) and messages.count("\n") == bool(message)


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_a_description_that_nobody_gets(redirect, tmp_path):
    returned, messages = shell(f"convert {write_model(tmp_path)} --info", redirect)
    assert returned == 1
    assert messages.startswith("cgru: standard output") and messages.count("\n") == 1


def test_a_reader_that_has_gone_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    run = [sys.executable, "-m", "cgru_cli", "train", "--help"]
    done = subprocess.run(run, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The objects of commands that only print."""
    folder = tmp_path_factory.mktemp("places")
    data, new = runs.prepared(folder / "data"), folder / "new.npz"
    return {"MODEL": write_model(folder), "DATA": data, "NEW": new}


@pytest.mark.parametrize(
    "command",
    choice(
        [
            "convert MODEL --info", "prep --help", "score --dump-config", "serve --help",
            f"train DATA -m NEW --dry-run --jit off {' '.join(runs.PLAIN)}",
            "train --dump-config minimal", "translate --dump-config",
        ],
        "prep --help", "score --dump-config", "train --dump-config minimal",
    ),
)  # fmt: skip
def test_commands_that_only_print_need_somebody_to_print_for(command, places):
    words = [str(places.get(word, word)) for word in command.split()]

    def printed_to(output):
        done = subprocess.run(prepared.command(*words), stdout=output, stderr=subprocess.PIPE)
        return done.returncode, done.stderr.decode()

    with open("/dev/full", "wb") as full:
        said = "cgru: standard output: cannot be written: No space left on device\n"
        assert printed_to(full) == (1, said)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as gone:
        assert printed_to(gone) == (0, "")
