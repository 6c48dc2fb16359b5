#!/usr/bin/env python3
"""Score the kept translations again, and compare with the pages: check.py TEXT

TEXT is the folder that split.py and noise.py made for SIZE=small. The translations of the pages'
results are in outputs.tar.xz, as NAME.TEST.TARGET; shorter and longer trainings are in folders of
their own. The tables of run.sh are printed; exit code 1 if no page has one of their rows (CPU
minutes apart, which cannot be scored), or if a row of compare.tsv has other scores than the
translations in compare.tar.xz, SIZE-SYSTEM-SEED/valid.POINT.TARGET.
"""

import argparse
import csv
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

HERE = Path(__file__).parent
ANALYSED = "base both tuned ensemble-seeds student-sentence".split()
MINUTES = re.compile(r"(\| [\w-]+ \|) *\d* *\|(?=( [^|]*\|){4}$)")  # of a row of table.py


def run(*command: object) -> str:
    """The standard output of a command. Raises CalledProcessError if it fails."""
    return subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def scores(text: Path, out: Path) -> str:
    """The tables of the translations in a folder."""
    (out / "scores").mkdir()
    for translation in sorted(out.glob("*.test.*")):
        name, test = translation.stem.split(".", 1)
        command = [sys.executable, "-m", "sacrebleu", text / f"{test}{translation.suffix}"]
        options = ("-m", "bleu", "chrf", "--confidence", "-f", "json")
        (out / f"scores/{name}.{test}.json").write_text(run(*command, "-i", translation, *options))
    return run(sys.executable, HERE / "table.py", out)


def kinds_of_lines(text: Path, out: Path, source: str) -> str:
    """The tables of the step `analysis`."""
    (base,) = out.glob("base.test.domain.*")
    paths = {name: base.with_stem(f"{name}.test.domain") for name in ANALYSED}
    systems = [f"{name}={path}" for name, path in paths.items() if path.exists()]
    files = text / "test.domain", text / "train.domain"
    languages = ("-s", source, "-t", base.suffix[1:])
    return run(sys.executable, HERE / "analysis.py", *files, *systems, *languages)


def wrong_rows(text: Path, table: Path) -> list[str]:
    """The rows of compare.tsv with other scores than their translations have."""
    wrong = []
    with (
        tarfile.open(table.with_suffix(".tar.xz")) as archive,
        open(table, encoding="utf-8") as file,
        tempfile.TemporaryDirectory() as folder,
    ):
        archive.extractall(folder, filter="data")
        for row in csv.DictReader(file, delimiter="\t"):
            run = Path(folder) / f"{row['size']}-{row['system']}-{row['seed']}"
            (translation,) = run.glob(f"valid.{row['point']}.*")
            reference = (text / f"valid{translation.suffix}").read_text("utf-8").splitlines()
            lines = translation.read_text("utf-8").splitlines()
            found = [f"{m.corpus_score(lines, [reference]).score:.1f}" for m in (BLEU(), CHRF())]
            if found != [row["bleu"], row["chrf"]]:
                wrong.append(f"{run.name}, {row['point']} minutes: {' and '.join(found)}")
    return wrong


def without_minutes(row: str) -> str:
    """The row without its second cell, if that is CPU minutes."""
    return MINUTES.sub(r"\1 |", row)


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("text", type=Path)
    add("--outputs", type=Path, default=HERE / "outputs.tar.xz", help="the translations")
    add("--pages", type=Path, default=HERE, help="folder of the pages with their scores")
    add("--table", type=Path, default=HERE / "compare.tsv", help="the comparison with Marian")
    add("-s", "--source", default="en", help="source language")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(options.outputs) as archive:
        archive.extractall(folder, filter="data")
        runs = [Path(folder), *(path for path in Path(folder).iterdir() if path.is_dir())]
        printed = "".join(scores(options.text, run) for run in runs)
        printed += kinds_of_lines(options.text, Path(folder), options.source)
    rows = [without_minutes(row) for row in printed.splitlines() if row]
    pages = (page.read_text("utf-8") for page in options.pages.glob("*.md"))
    stated = {without_minutes(row) for page in pages for row in page.splitlines()}
    missing = [row for row in rows if row not in stated]
    print(*rows, sep="\n")
    problems = [f"no page has: {row}" for row in missing]
    problems += [f"{options.table.name}: {row}" for row in wrong_rows(options.text, options.table)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
