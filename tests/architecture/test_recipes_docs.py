"""The recipe for localised documentation: its text, its clock and its table."""

import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from documentation import ROOT
from shared_files import SHARED, need

pytestmark = pytest.mark.long


FOLDER = ROOT / "recipes/docs"
PAGE = """---
title: Seite
ms.translationtype: HT
---
# <a name="x"></a><span data-ttu-id="1-103">Erstellen Sie ein Projekt</span>\
<span class="sxs-lookup"><span data-stu-id="1-103">Create a  project</span></span>

* <span data-ttu-id="1-104">Siehe [**Seite**](x.md) und `a<b>`.</span>\
<span class="sxs-lookup"><span data-stu-id="1-104">See [**page**](x.md) and `a<b>`.</span></span>
* <span data-ttu-id="1-105">Zu kurz</span>\
<span class="sxs-lookup"><span data-stu-id="1-105">Too short</span></span>
* <span data-ttu-id="1-106">Visual Studio 2017 Community</span>\
<span class="sxs-lookup"><span data-stu-id="1-106">Visual Studio 2017 Community</span></span>
* <span data-ttu-id="1-107">Das ist eine Seite mit sehr viel mehr Text als zuvor.</span>\
<span class="sxs-lookup"><span data-stu-id="1-107">It is one</span></span>
* <span data-ttu-id="1-108">Erstellen Sie ein Projekt</span>\
<span class="sxs-lookup"><span data-stu-id="1-108">Create a project</span></span>
"""


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FOLDER / name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def rows(path: Path) -> list[list[str]]:
    return [
        line.split("\t") for line in gzip.open(path, "rt", encoding="utf-8").read().splitlines()
    ]


@pytest.fixture
def clone(tmp_path):
    """A repository with a page that people translated, and one that a machine translated."""
    folder = tmp_path / "owner" / "name.de-de"
    folder.mkdir(parents=True)
    (folder / "page.md").write_text(PAGE, "utf-8")
    (folder / "machine.md").write_text(PAGE.replace(": HT", ": MT"), "utf-8")
    git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for arguments in (
        ["init", "-q", "-b", "live-sxs"],
        ["add", "."],
        ["commit", "-q", "-m", "pages"],
        ["remote", "add", "origin", "https://example.com/owner/name.de-de.git"],
    ):
        subprocess.run([*git, *arguments], check=True)
    return folder


def test_pairs_of_a_clone(clone, tmp_path):
    done = script("extract.py", tmp_path / "p.tsv.gz", clone, "--markup", tmp_path / "m.tsv.gz")
    assert (done.returncode, done.stderr) == (0, "")
    start = ["owner/name.de-de", "page.md"]
    assert rows(tmp_path / "p.tsv.gz") == [
        [*start, "Create a project", "Erstellen Sie ein Projekt"],
        [*start, "See page and a.", "Siehe Seite und a."],
    ]
    marked = ["See [**page**](x.md) and `a<b>`.", "Siehe [**Seite**](x.md) und `a<b>`."]
    assert rows(tmp_path / "m.tsv.gz") == [[*start, *marked]]


def test_a_branch_that_is_missing_is_an_error(clone, tmp_path):
    done = script("extract.py", tmp_path / "p.tsv.gz", clone, "--branch", "main")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert str(clone) in done.stderr and not (tmp_path / "p.tsv.gz").exists()


@pytest.fixture
def text(tmp_path):
    """600 pairs in 300 documents, and general text; a line of each occurs everywhere."""
    lines = [
        f"r\tdoc{i // 2}.md\tline {i if i % 40 else 0} of it\tZeile {i if i % 40 else 0} davon"
        for i in range(600)
    ]
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    general = tmp_path / "general"
    general.mkdir()
    for name, count in (("train", 50), ("dev", 5), ("test", 20)):
        for language in ("en", "de"):
            sentences = (f"{language} {name} {i}\n" for i in range(count))
            (general / f"{name}.{language}").write_text("".join(sentences), "utf-8")
    return tmp_path


def test_no_test_source_is_in_the_training_text(text):
    out = text / "out"
    done = script("split.py", text / "pairs.tsv.gz", text / "general", out)
    assert (done.returncode, done.stderr) == (0, "")
    sets = {path.name: path.read_text("utf-8").splitlines() for path in out.iterdir()}
    trained = {*sets["train.domain.en"], *sets["train.general.en"]}
    for name in ("dev", "test.domain", "test.general"):
        assert sets[f"{name}.en"] and not trained & set(sets[f"{name}.en"])
        assert len(sets[f"{name}.en"]) == len(sets[f"{name}.de"])
    assert "line 0 of it" in trained  # it is in all parts of the text
    assert sets["mono.de"] and not set(sets["mono.de"]) & set(sets["test.domain.de"])
    assert "mono.en" not in sets and len(sets["train.general.de"]) == 50
    again = script("split.py", text / "pairs.tsv.gz", text / "general", text / "again")
    assert again.stdout == done.stdout
    for path in out.iterdir():
        assert path.read_bytes() == (text / "again" / path.name).read_bytes()


def test_pairs_with_fields_missing_are_an_error(text):
    (text / "pairs.tsv.gz").write_bytes(gzip.compress(b"r\tdoc\tone\n"))
    done = script("split.py", text / "pairs.tsv.gz", text / "general", text / "out")
    assert done.returncode == 1 and "line 1 has 3 fields" in done.stderr


def test_a_command_ends_when_its_minutes_are_used(tmp_path):
    clock = tmp_path / "clock.tsv"
    busy = "import os\nwhile os.times().user < 20: pass"
    done = script("budget.py", "run", clock, 0.01, sys.executable, "-c", busy)
    assert done.returncode == 0
    used = [float(line.split("\t")[1]) for line in clock.read_text().splitlines()]
    assert used == sorted(used) and 0.01 <= used[-1] < 0.1
    assert (
        script("budget.py", "run", clock, 0.01, "false").returncode == 0
    )  # nothing is left to run
    assert script("budget.py", "run", clock, 9, "false").returncode == 1


@pytest.fixture
def models(tmp_path):
    """Models saved after 1, 2 and 3 CPU minutes, and one after the clock ended."""
    (tmp_path / "clock.tsv").write_text("100.0\t1.0\n200.0\t2.0\n300.0\t3.0\n")
    names = ("model.npz.u9.npz", "model.iter15.npz", "model.iter25.npz", "model.iter40.npz")
    for name, seconds in zip(names, (90, 150, 250, 400), strict=True):
        (tmp_path / f"{name}.yml").touch()
        (tmp_path / name).touch()
        subprocess.run(["touch", "-d", f"@{seconds}", tmp_path / name], check=True)
    return [tmp_path / name for name in names]


@pytest.mark.parametrize(("minutes", "place"), [(0.5, None), (1, 0), (2.5, 1), (9, 2)])
def test_the_model_of_a_point_in_time(tmp_path, models, minutes, place):
    done = script("budget.py", "pick", tmp_path / "clock.tsv", minutes)
    expected = "" if place is None else f"{models[place]}\t{place + 1}.00\n"
    assert done.stdout == expected


def test_only_the_models_of_points_and_the_newest_one_are_kept(tmp_path, models):
    clock = tmp_path / "clock.tsv"
    done = script("budget.py", "run", clock, 9, "--points", "0.5 1 2.5", "sleep", "1")
    assert done.returncode == 0
    names = [models[place].name for place in (0, 1, 3)]
    left = {path.name for path in tmp_path.iterdir()} - {clock.name}
    assert left == {*names, *(f"{name}.yml" for name in names)}


# Of each program of run.sh: it records its call, and makes the files that the script needs.
PROGRAM = """#!/bin/sh
echo "${0##*/} $*" >> "$LOG"
case "$*" in
  *split.py*) mkdir -p "$4" && touch "$4/mono.de" ;;
  *budget.py*) echo "1	2" > "$3" && touch "${3%clock.tsv}model.npz" ;;
  *) echo output ;;
esac
"""


def test_steps_are_repeated_only_for_a_newer_model(tmp_path):
    programs, log, out = tmp_path / "bin", tmp_path / "log", tmp_path / "an out"
    programs.mkdir()
    for name in ("cgru", "python", "sacrebleu"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)

    def run(steps, students="student"):
        log.write_text("")
        done = subprocess.run(
            [FOLDER / "run.sh"],
            env=os.environ
            | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "LOG": str(log)}
            | {"PAIRS": "p", "GENERAL": "g", "OUT": str(out), "SEEDS": "1"}
            | {"STEPS": steps, "STUDENTS": students},
            capture_output=True,
            text=True,
        )
        made = re.findall(r"^cgru translate .*/(\w+)/model.npz|--(paired)", log.read_text(), re.M)
        made = ["".join(groups) for groups in made]
        return done.returncode, done.stderr, made

    assert run("base distil") == (2, "STEPS: distil is not known\n", [])
    assert run("base", "teacher") == (2, "STUDENTS: teacher is not known\n", [])
    assert run("distill") == (1, "distill: run the step base first\n", [])
    code, _, made = run("base distill")
    assert (code, made) == (0, ["base", "base", "student", "student", "paired"])
    assert run("base distill") == (0, "", [])
    (out / "student/trained").unlink()
    assert run("base distill") == (0, "run.sh: student\n", ["student", "student", "paired"])


def test_table(tmp_path):
    (tmp_path / "scores").mkdir()
    (tmp_path / "base").mkdir()
    (tmp_path / "base/trained").write_text("12.4\n")
    for test, bleu in (("test.domain", 20.04), ("test.general", 3.06)):
        scores = [
            {"name": "BLEU", "score": bleu, "confidence_var": "0.54"},
            {"name": "chrF2", "score": 2 * bleu, "confidence_var": "0.2"},
        ]
        (tmp_path / f"scores/base.{test}.json").write_text(json.dumps(scores))
    last = script("table.py", tmp_path).stdout.splitlines()[-1]
    assert last == "| base | 12 | 20.0 ± 0.5 | 40.1 ± 0.2 | 3.1 ± 0.5 | 6.1 ± 0.2 |"


def test_curve(tmp_path):
    pytest.importorskip("matplotlib")
    header = "size\tsystem\tseed\tpoint\tcpu_minutes\tbleu\tchrf\tcross_entropy\n"
    rows = "".join(
        f"base\t{system}\t{seed}\t{point}\t{point}\t1.0\t{point + seed}\t5.0\n"
        for system in ("cgru", "other")
        for seed in (1, 2)
        for point in (5, 10)
    )
    (tmp_path / "t.tsv").write_text(header + rows)
    done = script("curve.py", tmp_path / "t.tsv", tmp_path / "t.svg")
    assert (done.returncode, done.stderr) == (0, "")
    drawn = (tmp_path / "t.svg").read_text("utf-8")
    assert "CPU minutes" in drawn and drawn.count('id="line2d_') > 4
    script("curve.py", tmp_path / "t.tsv", tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text("utf-8") == drawn


def test_test_sets_with_noise(tmp_path):
    english = ["The first sentence.", "A second one here", "That is another line."] * 3
    german = ["Der erste Satz.", "Ein zweiter hier", "Das ist eine andere Zeile."] * 3
    for language, lines in (("en", english), ("de", german)):
        (tmp_path / f"test.{language}").write_text("".join(f"{s}\n" for s in lines), "utf-8")
    done = script("noise.py", tmp_path, "test", "en", "de")
    assert (done.returncode, done.stderr) == (0, "")

    def lines(noise, language):
        return (tmp_path / f"test-{noise}.{language}").read_text("utf-8").splitlines()

    assert lines("caps", "en")[0] == "THE FIRST SENTENCE." and lines("caps", "de")[8].isupper()
    assert lines("no-stop", "en") == [english[0][:-1], english[2][:-1]] * 3
    assert lines("joined", "de") == [" ".join(german[:3])] * 3
    assert lines("typos", "de") == german
    typos = lines("typos", "en")
    assert all(a != b for a, b in zip(typos, english, strict=True))
    assert script("noise.py", tmp_path, "test", "en", "de", "--seed", 2).returncode == 0
    assert lines("typos", "en") != typos


def test_analysis(tmp_path):
    texts = {
        "train.en": ["Open the file with 3 words"] * 6 + ["unusual"],
        "test.en": ["Open the file", "Open SalesTable with 3 words", "unusual", ""],
        "test.de": ["Öffne die Datei jetzt", "Öffne SalesTable mit 3 Wörtern", "seltsam", ""],
        "out": ["Öffne die Datei jetzt", "Öffne die Tabelle mit 3 Wörtern", "seltsam", ""],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    paths = (tmp_path / "test", tmp_path / "train", f"a={tmp_path / 'out'}")
    done = script("analysis.py", *paths)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row.split(" | ")[0]: row for row in done.stdout.splitlines()}
    assert rows["| only more frequent words"] == "| only more frequent words | 1 | 100.0 | 100.0 |"
    assert rows["| a word that is not in the training text"].split(" | ")[1] == "2"
    assert rows["| otherwise a word that occurs at most 5 times"].split(" | ")[1] == "1"
    assert rows["| numbers"] == "| numbers | 1 | 100.0 % |"
    assert rows["| names"] == "| names | 1 | 0.0 % |"


def test_kept_translations_are_scored_again(tmp_path):
    texts = {
        "test.domain": ["Open the file now.", "Close the window."],
        "test.general": ["I see a dog.", "He sees two cats."],
        "train.domain": ["Open the file."],
    }
    texts["valid"] = texts["test.domain"]
    for name, lines in texts.items():
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_text("".join(f"{s}\n" for s in lines), "utf-8")
    (tmp_path / "readme.md").write_text("")
    table = tmp_path / "table.tsv"
    table.write_text("size\tsystem\tseed\tpoint\tbleu\tchrf\nbase\tx@1\t2\t5\t100.0\t100.0\n")
    with tarfile.open(tmp_path / "table.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "valid.en", "base-x@1-2/valid.5.de")
    with tarfile.open(tmp_path / "outputs.tar.xz", "w:xz") as archive:
        for name in ("test.domain", "test.general"):
            archive.add(tmp_path / f"{name}.en", f"base.{name}.de")
    paths = (tmp_path, "--outputs", tmp_path / "outputs.tar.xz", "--pages", tmp_path)
    paths = (*paths, "--table", table)
    done = script("check.py", *paths)
    assert done.returncode == 1 and "| base | | 100.0 ± 0.0 | 100.0 ± 0.0 |" in done.stderr
    stated = done.stdout.replace("| base | |", "| base | 12 |", 1)
    for readme, code in ((stated, 0), (stated.replace("100.0 ±", "99.9 ±", 1), 1)):
        (tmp_path / "readme.md").write_text(readme, "utf-8")
        done = script("check.py", *paths)
        assert (done.returncode, len(done.stderr.splitlines())) == (code, code)
    (tmp_path / "readme.md").write_text(stated, "utf-8")
    table.write_text(table.read_text().replace("100.0\n", "99.9\n"))
    done = script("check.py", *paths)
    assert done.returncode == 1
    assert done.stderr == "table.tsv: base-x@1-2, 5 minutes: 100.0 and 100.0\n"


@pytest.mark.exhaustive
def test_the_pages_have_the_scores_of_the_kept_translations(tmp_path):
    pairs, general = (need(SHARED / "data" / name) for name in ("msdocs-en-de", "tatoeba-en-de"))
    text, sizes = tmp_path / "text", ("--pairs-domain", 60000, "--pairs-general", 60000)
    done = script("split.py", pairs / "en-de.tsv.gz", general, text, *sizes)
    assert done.returncode == 0, done.stderr
    assert script("noise.py", text, "test.domain", "en", "de").returncode == 0
    done = script("check.py", text)
    assert (done.returncode, done.stderr) == (0, "")
