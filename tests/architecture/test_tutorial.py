"""The tutorial's commands run in order, in a small form; with `exhaustive`, as they stand.

This is the whole way of somebody who begins: corpus, preparation, training, learning curve,
translation, scores, attention, export, server and Python.
"""

import json
import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import prepared
import pytest
from documentation import ROOT

from cgru_cli.formats import read_model

pytestmark = pytest.mark.long


PAGE = (ROOT / "docs/tutorial.md").read_text("utf-8")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.S | re.M)
SMALL = {  # of the numbers in its commands
    "data.py text": "data.py text --train 300 --dev 5 --test 9",
    "--subword-vocabulary 1000": "--subword-vocabulary 120",
    "--dim-emb 64 --dim-rnn 128": "--dim-emb 8 --dim-rnn 8 --type rnnsearch --cell tanh",
    "--valid-freq 500u --disp-freq 100u --after 1000u": "--valid-freq 2u --after 2u",
}
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
TIME = re.compile(r"^\[[-\d]+ [:\d]+\] ", re.M)


class Block(NamedTuple):
    """Commands or Python of the page, and the output that the page shows after them."""

    language: str
    code: str
    shown: str


def blocks() -> list[Block]:
    """The blocks after the installation."""
    found = [Block(*groups) for groups in BLOCK.findall(PAGE)]
    return [block for block in found if "pip install" not in block.code]


def run(block: Block, folder: Path) -> str:
    """What a block prints, warnings and logs of `cgru` included."""
    environment = os.environ | {"PATH": prepared.path(), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    command = {"sh": ["bash", "-eu", "-c"], "python": ["python", "-c"]}[block.language]
    code = block.code
    if "localhost:8080" in code:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        code = code.replace("localhost:8080", f"localhost:{port}")
        code = code.replace("cgru serve", f"cgru serve --port {port}")
    done = subprocess.run(
        [*command, code], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for name in ("recipes", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


# The kind of output of each block, by words of its code: each asserts what was printed, beside what
# the page shows, and which files are in the folder.


def same_but_for_numbers(printed, shown, folder):
    found, expected = (NUMBER.sub("N", text).replace("*", "") for text in (printed, shown))
    assert found.split() == expected.split()


def the_same(printed, shown, folder):
    assert printed == shown


def corpus(printed, shown, folder):
    counts, texts = printed.splitlines()[:7], printed.splitlines()[7:]
    lines = {"dev": 5, "test": 9, "train": 300}
    expected = [
        [str(n), f"text/{name}.{side}"] for name, n in lines.items() for side in ("de", "en")
    ]
    assert [line.split() for line in counts] == [*expected, ["628", "total"]]
    assert len(texts) == 3 and all(text.count("\t") == 1 for text in texts)


def dry_run(printed, shown, folder):
    """The ids at its end are those of another pair; so small a text is not timed."""
    same_but_for_numbers(printed.partition("pair:")[0], shown.partition("pair:")[0], folder)
    assert not (folder / "run").exists()


def training(printed, shown, folder):
    found = TIME.sub("", printed).splitlines()
    assert found[0].startswith("Training ") and found[-1] == "Training finished"
    for metric in ("cross-entropy", "bleu"):
        (line,) = [line for line in found if line.startswith("[valid]") and f" {metric} " in line]
        same_but_for_numbers(line, f"[valid] Ep. 1 : Up. 2 : {metric} : 1.5 : new best", folder)
    assert read_model.read(folder / "run/model.npz").structure.state == 8
    records = (folder / "run/model.npz.metrics.jsonl").read_text().splitlines()
    assert {json.loads(record)["type"] for record in records} >= {"train", "valid"}


def curve(printed, shown, folder):
    assert printed == shown
    assert (folder / "run/model.npz.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "run/model.npz.svg").read_text("utf-8")


def translation(printed, shown, folder):
    sources, targets = ((folder / f).read_text("utf-8") for f in ("text/test.en", "test.de"))
    assert sources.count("\n") == targets.count("\n") == 9
    assert printed.splitlines() == [*sources.splitlines()[:3], *targets.splitlines()[:3]]


def n_best(printed, shown, folder):
    for text in (printed, shown):
        assert re.fullmatch(r"(0 \|\|\| .* \|\|\| F0= -[\d.]+ \|\|\| -[\d.]+\n){3}", text)


def log_probabilities(printed, shown, folder):
    for text in (printed, shown):
        *scores, perplexity = map(float, text.split())
        assert len(scores) == 3 and max(scores) < 0 and perplexity > 1


def heatmap(printed, shown, folder):
    """Weights of each target sub-word over the source, of two lines."""
    page = (folder / "attention.html").read_text("utf-8")
    lines = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page)[1])
    sources = (folder / "text/test.en").read_text("utf-8").splitlines()
    assert [line["source"] for line in lines] == sources[:2]
    assert [line["target"] for line in lines] == printed.splitlines()[:2]
    for (view,) in (line["views"] for line in lines):
        weights = np.array(view["weights"])
        assert weights.shape == (len(view["target"]), len(view["source"]))
        assert weights.sum(axis=1) == pytest.approx(1, abs=1e-4)


def exported(printed, shown, folder):
    same_but_for_numbers(printed, shown, folder)
    assert (folder / "model.onnx").stat().st_size > 10_000


def served(printed, shown, folder):
    found, expected = map(json.loads, (printed, shown))
    assert found.keys() == expected.keys() and found["model"] == expected["model"] == "model"
    (found,), (expected,) = (one["translations"] for one in (found, expected))
    assert found.keys() == expected.keys() and isinstance(found["text"], str)
    assert found["hypotheses"][0].keys() == expected["hypotheses"][0].keys()


def from_python(printed, shown, folder):
    for text in (printed, shown):
        assert re.fullmatch(r"(-\d+\.\d{3} .*\n){2}", text)


KINDS: dict[str, Callable] = {  # by the first of these words in the code of the block
    "examples/en-de.npz": the_same,
    "data.py": corpus,
    "cgru prep": same_but_for_numbers,
    "--dry-run": dry_run,
    "cgru train data": training,
    "--curves": curve,
    "> test.de": translation,
    "--n-best": n_best,
    "greedy.de": same_but_for_numbers,
    "--metric": same_but_for_numbers,
    "--summary": log_probabilities,
    "--heatmap": heatmap,
    "cgru convert": exported,
    "cgru serve": served,
    "import Translator": from_python,
}


def test_the_small_form_prints_the_same_kinds_of_output(folder):
    for whole in SMALL:
        assert whole in PAGE
    seen = []
    for block in blocks():
        for whole, small in SMALL.items():
            block = block._replace(code=block.code.replace(whole, small))
        kind = next(words for words in KINDS if words in block.code)
        KINDS[kind](run(block, folder), block.shown, folder)
        seen.append(kind)
    assert sorted(seen) == sorted(KINDS)


@pytest.mark.exhaustive  # trains for two minutes
def test_the_page_shows_what_the_commands_print(folder):
    """Apart from other hypotheses and greedy search, which differ from training to training."""
    for block in blocks():
        printed, shown = run(block, folder), block.shown
        if not shown or "--after 1000u\n" in block.code or "greedy" in block.code:
            continue
        if any(word in block.code for word in ("python recipes", "cgru prep", "--dry-run")):
            printed, shown = (text.partition("Expected: ")[0] for text in (printed, shown))
            assert printed == shown
            continue
        if "--n-best" in block.code or block.language == "python":
            printed, shown = (text.splitlines()[0] for text in (printed, shown))
        assert NUMBER.sub("N", printed) == NUMBER.sub("N", shown)
        found, expected = (
            [float(x.replace(",", "")) for x in NUMBER.findall(text)] for text in (printed, shown)
        )
        assert found == pytest.approx(expected, rel=0.03, abs=2)
