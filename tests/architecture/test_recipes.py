"""The recipes: their scripts are valid, their commands and options exist, and they run."""

import gzip
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import prepared
import pytest
import sacrebleu
from click.testing import CliRunner
from documentation import ROOT, commands, name_of, of_cgru, parse
from selection import choice
from tables import each_row

from cgru_cli.cli import main

pytestmark = pytest.mark.long


SCRIPTS = sorted((ROOT / "recipes").glob("*/*.sh"))
FOLDERS = sorted({script.parent for script in SCRIPTS})


@each_row("path", SCRIPTS, ids=name_of)
def test_commands_are_understood(path):
    text = path.read_text("utf-8")
    for name, options in re.findall(r"\b(\w+)\+?=\((--.*?)\)", text, re.S):  # options in an array
        parse("train", ["data", *shlex.split(re.sub(r"\$\w+", "1", options))])
        text = text.replace(f'"${{{name}[@]}}"', "")
    understood = [words for words in map(of_cgru, commands(text)) if words]
    assert understood
    for command, *arguments in understood:
        parse(command, arguments)


@each_row("script", SCRIPTS, ids=name_of)
def test_the_shell_understands_it(script):
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(script, os.X_OK)
    lines = script.read_text("utf-8").split("\n")
    assert lines[0] == "#!/usr/bin/env bash" and "set -euo pipefail" in lines
    assert max(map(len, lines)) <= 100
    assert all(line.startswith("#") for line in lines[: lines.index("set -euo pipefail")])


@each_row("folder", FOLDERS, ids=name_of)
def test_each_recipe_says_what_it_takes_and_what_it_gave(folder):
    page = (folder / "README.md").read_text("utf-8")
    assert re.search(r"^## Results\n\n\S", page, re.M)
    overview = (ROOT / "recipes/README.md").read_text("utf-8")
    assert f"]({folder.name}/README.md)" in overview
    variables = set()
    pages = "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.md")))
    for script in folder.glob("*.sh"):
        assert f"{folder.name}/{script.name}" in pages
        variables |= set(re.findall(r"\$\{([A-Z]+):", script.read_text("utf-8")))
    rows = re.findall(r"^\| (`[A-Z]+`(?:, `[A-Z]+`)*) \|", pages, re.M)
    assert variables == set(re.findall(r"`([A-Z]+)`", " ".join(rows)))


# --- complete runs, of which a few run by default -----------------------------------------------


# Models that are traced faster than the conditional GRU; the first has no annotations.
SIZES = ("--dim-emb", "8", "--dim-rnn", "8", "--cell", "tanh")
PLAIN = (*SIZES, "--type", "seq2seq", "--enc-type", "unidirectional")
SMALL = (*SIZES, "--type", "rnnsearch", "--enc-type", "unidirectional")


def _run(script: str, *options: str, **variables: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [ROOT / "recipes" / script, "--cpu-threads", "1", *options],
        env=os.environ
        | {"PATH": prepared.path()}
        | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _text(folder: Path, names: dict[str, int], packed: bool = False, colours: int = 2) -> Path:
    """Write distinct pairs in which each word of one side is a word of the other.

    A model first learns what is most frequent: with two colours per line the end of the line, so
    its search ends early; with six the colours, so its translations are long.
    """
    folder.mkdir()
    for place, (name, count) in enumerate(names.items()):
        numbers = range(3000 * place, 3000 * place + count)
        for language, words in (("en", "red green blue"), ("de", "rot grün blau")):
            lines = (
                " ".join(words.split()[i // 3**k % 3] for k in range(colours)) + f" {i}\n"
                for i in numbers
            )
            data = "".join(lines).encode()
            path = folder / f"{name}.{language}{'.gz' * packed}"
            path.write_bytes(gzip.compress(data) if packed else data)
    return folder


@pytest.mark.exhaustive  # of the same commands as the tutorial
def test_quickstart(tmp_path):
    data = _text(tmp_path / "data", {"train": 900, "dev": 5, "test": 7})
    options = (*PLAIN, "--valid-freq", "2u")
    done = _run("quickstart/run.sh", *options, OUT=tmp_path / "o", DATA=data, UPDATES=2)
    assert _lines(tmp_path / "o/test.de") == 7
    assert "source, translation, reference:" in done.stdout and "BLEU" in done.stdout


@pytest.mark.exhaustive
def test_it_docs(tmp_path):
    data = _text(tmp_path / "data", {"train": 2500, "dev": 5, "test": 7})
    _run("it-docs/run.sh", *SMALL, "--after", "2u", OUT=tmp_path / "o", DATA=data)
    assert _lines(tmp_path / "o/test.de") == 7


@pytest.mark.exhaustive
def test_tatoeba(tmp_path):
    """The example model: float16, with its vocabulary and the treatment of raw text beside it."""
    data = _text(tmp_path / "data", {"train": 3000, "dev": 5, "test": 7}, packed=True, colours=6)
    options = (*SMALL, "--after", "2u")
    done = _run("tatoeba/run.sh", *options, OUT=tmp_path / "o", DATA=data)
    assert _lines(tmp_path / "o/test.de") == 7 and "chrF2" in done.stdout
    with np.load(tmp_path / "o/en-de.npz") as model:
        assert {model[name].dtype.name for name in model if name != "decoder_c_tt"} == {"float16"}
    for ending in ("spm", "npz.json", "npz.preprocess.json"):
        assert (tmp_path / f"o/en-de.{ending}").exists()


@pytest.mark.parametrize(
    "script, of_words",
    [pytest.param("languages", False, marks=pytest.mark.exhaustive), ("tags", True)],
)
def test_labels(tmp_path, script, of_words):
    pytest.importorskip("sklearn")
    data = tmp_path / "data"
    data.mkdir()
    for name, count in (("train", 60), ("dev", 4), ("test", 6)):
        lines = [("red rot", "green grün", "blue blau")[i % 3] for i in range(count)]
        labels = ["en de" if of_words else line.split()[0] for line in lines]
        for ending, column in (("text", lines), ("labels", labels)):
            (data / f"{name}.{ending}").write_text("".join(f"{x}\n" for x in column), "utf-8")
    small = (*SIZES, "--after", "2u")
    variables = {"OUT": tmp_path / "o", "DATA": data, "SEEDS": "1 2", "PIECES": 19}
    done = _run(f"labels/{script}.sh", *small, **variables)
    rows = dict(re.findall(r"^\| (\S+) \| (.+) \|$", done.stdout, re.M))
    simple = ["most-frequent"] if of_words else ["words", "characters"]
    assert all(rows[name].startswith("100.0 |") for name in simple) and "±" in rows["network"]
    assert _lines(tmp_path / "o/seed2/test.labels") == 6
    assert (tmp_path / "o/results.md").read_text("utf-8") == done.stdout


@pytest.mark.exhaustive
def test_adaptation(tmp_path):
    general = _text(tmp_path / "general", {"train": 2500, "dev": 5, "test": 7}, packed=True)
    data = _text(tmp_path / "data", {"train": 60, "test": 6})
    done = _run(
        "it-docs/adapt.sh", *SMALL, OUT=tmp_path / "o",
        GENERAL=general, DATA=data, UPDATES=2, MORE=1, PRIORS="0.5",
    )  # fmt: skip
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["| model", "| general", "| prior-0.5"]
    for name in ("general", "prior-0.5"):
        assert _lines(tmp_path / f"o/{name}/test.general") == 7
        assert _lines(tmp_path / f"o/{name}/test.software") == 6


def _error(tmp_path: Path, script: str, cgru: str, **variables: object) -> str:
    """The error of a recipe that fails, where `cgru` is a shell script."""
    program = tmp_path / "bin/cgru"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{cgru}\n")
    program.chmod(0o755)
    path = (program.parent, Path(sys.executable).parent, os.environ["PATH"])
    done = subprocess.run(
        [ROOT / "recipes" / script],
        env=os.environ
        | {"PATH": os.pathsep.join(map(str, path))}
        | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return done.stderr


def test_adaptation_keeps_no_partial_translation(tmp_path):
    general = _text(tmp_path / "general", {"train": 3, "dev": 2, "test": 2})
    variables = {"GENERAL": general, "DATA": general, "OUT": tmp_path / "o"}
    for path in ("prep/test.raw", "text/train.target", "general/model.npz"):
        (tmp_path / "o" / path).parent.mkdir(parents=True)
        (tmp_path / "o" / path).touch()
    fails = "[ $1 != translate ] || { echo half; echo no memory >&2; exit 1; }"
    assert _error(tmp_path, "it-docs/adapt.sh", fails, **variables).endswith("no memory\n")
    assert not (tmp_path / "o/general/test.general").exists()
    (general / "train.en").unlink()
    assert "train.en: no such file" in _error(tmp_path, "it-docs/adapt.sh", "", **variables)


@pytest.mark.parametrize("together", choice([False, True], False))
def test_multi30k(tmp_path, together):
    """Train a model, and continue with minimum risk; or add a second model."""
    pytest.importorskip("sacremoses")
    pytest.importorskip("subword_nmt")
    tests = {"test_2016_flickr": 5, "test_2017_flickr": 6}
    data = _text(tmp_path / "data", {"train": 200, "val": 4, **tests}, packed=True)
    sizes = (*SMALL, "--after", "2u", "--label-smoothing", "0.1")
    variables = {"OUT": tmp_path / "o", "DATA": data, "SETUP": "large"}
    variables |= {"SOURCE": "de", "TARGET": "en"}
    done = _run("multi30k/train.sh", *sizes, SEEDS=4, RISK=1, **variables)
    for setup in ("large", "large-risk"):
        folder = tmp_path / f"o/{setup}/seed4"
        assert [_lines(folder / f"test{number}.words") for number in (1, 2)] == [5, 6]
        rows = [line.split("\t") for line in (folder / "results.tsv").read_text().splitlines()]
        assert [row[:2] for row in rows] == [
            [n, "4"] for n in ("test2016", "test2017", "hours", "words/s")
        ]
    updates = [
        json.loads(
            (tmp_path / f"o/{setup}/seed4/model.npz.metrics.jsonl").read_text().split("\n")[-2]
        )
        for setup in ("large", "large-risk")
    ]
    assert [record["update"] for record in updates] == [2, 1]
    assert len(re.findall(r"^test201[67] .* mean ", done.stdout, re.M)) == 4
    assert "rot" in (tmp_path / "o/prep/test1.src").read_text()
    assert "red" in (tmp_path / "o/test1.words").read_text()
    assert "together" not in done.stdout
    if together:  # resumed with a second seed
        done = _run("multi30k/train.sh", *sizes, SEEDS="4 5", RISK=0, **variables)
        line = r"\n2 models together\ntest2016\t[\d.]+\ntest2017\t[\d.]+\n$"
        assert re.search(line, done.stdout)
        words = [tmp_path / f"o/large-together/test{number}.words" for number in (1, 2)]
        assert [_lines(path) for path in words] == [5, 6]


@pytest.mark.exhaustive
def test_ladder(tmp_path):
    """The figures of the table can be reproduced from models and texts."""
    for package in ("sacremoses", "subword_nmt", "nltk", "matplotlib"):
        pytest.importorskip(package)
    tests = {"test_2016_flickr": 5, "test_2017_flickr": 6}
    data = _text(tmp_path / "data", {"train": 200, "val": 4, **tests}, packed=True, colours=6)
    out = tmp_path / "o"
    variables = {"OUT": out, "DATA": data, "SEEDS": 4, "UPDATES": 2}
    variables |= {"MODELS": "kneser-ney lm-rnn seq2seq-rnn", "EMBEDDING": 8, "STATE": 8}
    done = _run("ladder/run.sh", "--mini-batch", "8", **variables)
    rows = [line.strip("| \n").split(" | ") for line in (out / "table.md").open()]
    assert done.stdout.endswith((out / "table.md").read_text())
    assert [row[0] for row in rows[2:]] == ["kneser-ney", "lm-rnn", "seq2seq-rnn"]
    texts = {name: (out / f"test.{name}").read_text().splitlines() for name in ("trg", "words")}
    events = sum(len(line.split()) + 1 for line in texts["trg"])
    for row, source in ((rows[3], []), (rows[4], ["-s", str(out / "test.src")])):
        model = out / row[0] / "seed4/model.npz"
        arrays = np.load(model)
        assert int(row[2].replace(",", "")) == sum(
            arrays[name].size for name in arrays if name != "decoder_c_tt"
        )
        score = ["score", "-m", str(model), *source, "-t", str(out / "test.trg")]
        result = CliRunner().invoke(
            main, [*score, "--no-preprocess", "-o", str(tmp_path / "scores")]
        )
        assert result.exit_code == 0
        total = sum(map(float, (tmp_path / "scores").read_text().split()))
        assert float(row[3].replace(",", "")) == pytest.approx(math.exp(-total / events), abs=0.06)
    written = (out / "seq2seq-rnn/seed4/test.words").read_text().splitlines()
    found = sacrebleu.corpus_bleu(written, [texts["words"]], tokenize="none", force=True)
    assert float(rows[4][4]) == pytest.approx(found.score, abs=0.06) and found.score > 0.1
    assert (out / "ladder.svg").stat().st_size > 1000


@pytest.mark.exhaustive
def test_wmt16(tmp_path):
    pytest.importorskip("sacremoses")
    pytest.importorskip("subword_nmt")
    texts = {"train": 300, "train.more": 3, "dev": 5, "test": 7, "mono": 9}
    data = _text(tmp_path / "data", texts)
    options = (*PLAIN, "--after", "3u", "--save-freq", "1u", "--keep", "2")
    variables = {"OUT": tmp_path / "o", "DATA": data, "SAMPLE": 1, "TAG": "</R&D>"}
    (data / "mono.en").unlink()
    done = _run("wmt16/run.sh", *options, "--valid-freq", "2u", **variables)
    translations = [tmp_path / f"o/test.{name}.de" for name in ("single", "average", "ensemble")]
    assert [_lines(path) for path in translations] == [7, 7, 7]
    scores = re.findall(r"^(\w+) +BLEU", done.stdout, re.M)
    assert scores == ["single", "average", "ensemble"]
    kept = sorted(path.name for path in (tmp_path / "o/model").glob("*.u?.npz"))
    assert kept == [f"model.npz.u{n}.npz" for n in (2, 3)]
    back = (tmp_path / "o/back/text.en").read_text("utf-8").splitlines()
    assert len(back) == 9 and all(line.startswith("</R&D> ") for line in back)
    manifest = json.loads((tmp_path / "o/prep/manifest.json").read_text("utf-8"))
    inputs = [entry for entry in manifest["request"]["inputs"] if entry["role"] == "source"]
    assert [Path(entry["path"]).name for entry in inputs] == ["train.en", "text.en"]


def test_wmt16_resumes_its_back_translation(tmp_path):
    data = _text(tmp_path / "data", {"train": 3, "dev": 2, "test": 2, "mono": 4})
    fails = '[ $1 != translate ] || { echo "$@" >&2; exit 1; }'
    variables = {"DATA": data, "OUT": tmp_path / "o", "SEARCH": "topk 10"}
    error = _error(tmp_path, "wmt16/run.sh", fails, **variables)
    assert error.endswith(f"-o {tmp_path}/o/back/translated.topk 10 --resume\n")


def test_wmt16_makes_the_text_of_another_tag(tmp_path):
    data = _text(tmp_path / "data", {"train": 3, "dev": 2, "test": 2, "mono": 1})
    (tmp_path / "o/back").mkdir(parents=True)
    (tmp_path / "o/back/full.en").write_text("red 1\n")
    for tag in ("<A>", "<B>"):
        _error(tmp_path, "wmt16/run.sh", "[ $1 != train ]", DATA=data, OUT=tmp_path / "o", TAG=tag)
        assert (tmp_path / "o/back/text.en").read_text() == f"{tag} red 1\n"


def test_wmt16_needs_its_test_set_before_it_trains(tmp_path):
    data = _text(tmp_path / "data", {"train": 3, "dev": 2, "test": 2})
    (data / "test.en").unlink()
    error = _error(tmp_path, "wmt16/run.sh", "echo training >&2", DATA=data, OUT=tmp_path / "o")
    assert error == f"{data}/test.en: no such file, nor with .gz\n"


def test_vanishing_ends_its_trainings_with_itself(tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    (tmp_path / "bin").mkdir()
    trains = f"trap 'touch {ended}; exit' TERM; touch {begun}; while :; do sleep 0.1; done"
    for name, text in (("cgru", trains), ("python", ":")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    variables = {"OUT": str(tmp_path / "o"), "MODELS": "lstm", "SEEDS": "1"}
    path = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(
        [ROOT / "recipes/vanishing/run.sh"], env=os.environ | variables | path
    ) as script:
        while not begun.exists():
            time.sleep(0.05)
        script.terminate()
    assert ended.exists() and not (tmp_path / "o/adam/lstm-1/done").exists()


@pytest.mark.exhaustive
def test_vanishing(tmp_path):
    """Run two models for three updates; the initial gradients are those of the README."""
    models = {"MODELS": "tanh-small tanh-large", "SEEDS": 1, "UPDATES": 3}
    done = _run("vanishing/run.sh", "--disp-freq", "1u", OUT=tmp_path, **models)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if " | " in line]
    small, large = (row for row in rows if len(row) == 6 and row[2].startswith(("0.", "1.")))
    assert [small[0], large[0]] == ["tanh-small", "tanh-large"]
    assert float(small[2]) < 0.6 and float(large[2]) > 1.05  # a step
    assert [row[:2] for row in rows if row[1] in ("yes", "no")] == [
        ["tanh-large", "yes"], ["tanh-large", "no"]
    ]  # fmt: skip
    page = (tmp_path / "vanishing.html").read_text("utf-8")
    assert page.count("<svg") == 1 and page.count("<table>") == 2
    assert (tmp_path / "vanishing.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "results.md").read_text("utf-8") == done.stdout
