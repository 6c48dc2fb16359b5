"""Type checkers find mistakes in a user's script, and nothing else."""

import importlib.util
import re
import subprocess
import sys

import pytest
from documentation import ROOT

pytestmark = pytest.mark.long


SCRIPT = """\
from collections.abc import Iterator
from pathlib import Path

import cgru_cli
from cgru_cli import CgruError, Hypothesis, PairScorer, Translator, UsageError, load_model


def lines(path: Path) -> Iterator[str]:
    with path.open() as file:
        yield from file


data: Path = cgru_cli.prepare("data", source=("train.en",), target=("train.de",), joint=True)
loaded = cgru_cli.train_model(data, model="m.npz", dim_rnn=8, on_validation=print)
wrong = cgru_cli.train_model(data, model="m.npz", dim_rnm=8)  # mistake 1
translator = Translator("m.npz", beam_size=3, weights=[1.0], device="cpu")
translator = Translator("m.npz", beam_sise=3)  # mistake 2
best: Hypothesis = translator.translate("one line", beam_size=1, prefixes="ein")
several: list[Hypothesis] = translator.translate(["one", "two"], normalize=0.6)
beams: list[list[Hypothesis]] = translator.translate(["one"], n_best=5, constraints=[["eins"]])
for one in translator.translate(lines(Path("text")), progress=True):
    print(one.text, one.total, one.alignment)
print(best.text, best.txt)  # mistake 3: no such member
scorer = PairScorer(load_model("m.npz"), normalize="1.0")  # mistake 4: a number
scored: list[Hypothesis] = scorer.score([("a", "b")], progress=len)  # mistake 5: takes a number
try:
    score: float = cgru_cli.evaluate([one.text for one in several], ["one", "two"])["bleu"]
except (UsageError, CgruError) as error:
    print(error, translator.languages, translator.tokenize("a b"))
"""


def planted():
    return [n for n, line in enumerate(SCRIPT.splitlines(), 1) if "# mistake" in line]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_five_planted_mistakes_are_found(tmp_path, checker):
    if checker == "pyright" and importlib.util.find_spec("pyright") is None:
        pytest.skip("needs pyright")
    (tmp_path / "script.py").write_text(SCRIPT)
    options = ["--no-error-summary", "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [sys.executable, "-m", checker, *(options if checker == "mypy" else []), "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT), "PATH": "/usr/bin", "HOME": "/tmp"},
    )
    found = [int(n) for n in re.findall(r"script\.py:(\d+):.*error", done.stdout)]
    assert len(planted()) == 5 and sorted(set(found)) == planted(), done.stdout + done.stderr
