"""Scores of a script: its output, failures and interruption."""

import stat
import sys
import time

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.validation_script import command_of, score_of


def not_interrupted():
    """The check of a training run that is not interrupted."""


class Interrupted(Exception):
    pass


def script(folder, body, name="script"):
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, os, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_score_of_a_script(tmp_path):
    path = script(tmp_path, "print('dev', sys.argv[1], 5); print('BLEU4 = 7.')")
    assert score_of([path, "f"], not_interrupted) == 7
    path = script(tmp_path, "print(3, 4)")
    assert score_of([path, "f"], not_interrupted, first=True) == 3


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (
            "print(3); print('x\\nno such model\\n', file=sys.stderr); sys.exit(4)",
            ["exit code 4", ": no such model"],
        ),
        ("sys.exit(1)", ["exit code 1"]),
        ("os.kill(os.getpid(), 9)", ["signal 9"]),
        ("print('nan, or none')", ["no number", "nan, or none"]),
        ("print('1 2')", ["which number is the score? 1 2"]),
    ],
)
def test_scripts_that_fail(tmp_path, body, parts):
    path = script(tmp_path, body)
    with pytest.raises(CgruError) as error:
        score_of([path, "f"], not_interrupted)
    text = str(error.value)
    assert text.startswith(f"{path}: ") and "\n" not in text
    assert all(part in text for part in parts)


def test_commands_that_are_not_programs(tmp_path, monkeypatch):
    plain = tmp_path / "plain"
    plain.write_text("echo 1\n")
    for given, message in (
        (f"{plain}", "is not executable"),
        (f"{tmp_path}/none -x", "no such program"),
    ):
        with pytest.raises(CgruError, match=message):
            command_of(given)
    for given, message in ((" ", "' ': a command is expected"), ("'a", "'a: No closing")):
        with pytest.raises(UsageError, match=f"^--valid-script-path {message}"):
            TrainOptions(valid_script=given)
    (tmp_path / "here.sh").write_text("#!/bin/sh\necho 1\n")
    (tmp_path / "here.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CgruError, match=r"here.sh: is not on the PATH; write .* \./here.sh$"):
        command_of("here.sh")
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    assert command_of(f"{broken} 'a b'") == [str(broken), "a b"]
    with pytest.raises(CgruError, match="broken: cannot be run"):
        score_of([str(broken), "f"], not_interrupted)


def test_an_interrupt_ends_the_script_and_what_it_started(tmp_path):
    mark = tmp_path / "mark"
    path = script(
        tmp_path, f"if not os.fork(): time.sleep(1); open({str(mark)!r}, 'w')\ntime.sleep(60)"
    )

    def check():
        raise Interrupted

    with pytest.raises(Interrupted):
        score_of([path, "f"], check)
    time.sleep(1.2)
    assert not mark.exists()
