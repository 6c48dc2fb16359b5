"""The tutorial's commands run in order, in a small form; with `exhaustive`, as they stand."""

import os
import re
import subprocess
from pathlib import Path

import prepared
import pytest
from documentation import ROOT

pytestmark = pytest.mark.long


PAGE = (ROOT / "docs/tutorial.md").read_text("utf-8")
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.S | re.M)
SMALL = {  # of the numbers in its commands
    "data.py text": "data.py text --train 300 --dev 5 --test 9",
    "--subword-vocabulary 1000": "--subword-vocabulary 120",
    "--dim-emb 64 --dim-rnn 128": "--dim-emb 8 --dim-rnn 8 --type rnnsearch --cell tanh",
    "--valid-freq 500u --disp-freq 100u --after 1000u": "--valid-freq 2u --after 2u",
}
LEFT_OUT = ("greedy.de", "examples/")  # repeat others, and are tested with the other samples
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def blocks() -> list[tuple[str, str]]:
    """The commands after the installation, each with the output that the page shows."""
    found = [(code, shown) for code, shown in BLOCK.findall(PAGE) if "pip install" not in code]
    assert len(found) == 12
    return found


def run(code: str, folder: Path) -> str:
    """What a block prints, warnings and logs of `cgru prep` included."""
    environment = os.environ | {"PATH": prepared.path(), "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-eu", "-c", code], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for name in ("recipes", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_the_small_form_prints_the_same_kinds_of_lines(folder):
    for whole in SMALL:
        assert whole in PAGE
    compared = 0
    for code, shown in blocks():
        if any(word in code for word in LEFT_OUT):
            continue
        for whole, small in SMALL.items():
            code = code.replace(whole, small)
        printed = run(code, folder)
        if "--dry-run" in code or "cgru prep" in code or "--metric" in code:
            form, expected = (NUMBER.sub("N", text).split() for text in (printed, shown))
            if "--dry-run" in code:  # the ids at its end are those of another pair
                form, expected = (words[: words.index("pair:")] for words in (form, expected))
            assert form == expected
            compared += 1
        elif "--n-best" in code:
            assert re.fullmatch(r"(0 \|\|\| .* \|\|\| F0= -[\d.]+ \|\|\| -[\d.]+\n){3}", printed)
            compared += 1
    assert compared == 4
    assert (folder / "attention.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.exhaustive  # trains for two minutes
def test_the_page_shows_what_the_commands_print(folder):
    """Apart from other hypotheses and greedy search, which differ from training to training."""
    for code, shown in blocks():
        printed = run(code, folder)
        if not shown or "--after 1000u\n" in code or "greedy" in code:
            continue
        if "python recipes" in code or "cgru prep" in code or "--dry-run" in code:
            printed, shown = (text.partition("Expected: ")[0] for text in (printed, shown))
            assert printed == shown
            continue
        if "--n-best" in code:
            printed, shown = (text.splitlines()[0] for text in (printed, shown))
        assert NUMBER.sub("N", printed) == NUMBER.sub("N", shown)
        found, expected = (
            [float(x.replace(",", "")) for x in NUMBER.findall(text)] for text in (printed, shown)
        )
        assert found == pytest.approx(expected, rel=0.03, abs=2)
