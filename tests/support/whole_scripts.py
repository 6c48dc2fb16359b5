"""Whole scripts of other programs, run with `cgru old-programs` and with the originals."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import prepared
import pytest
from shared_files import FIXTURES, need

from cgru_cli.compat import old_programs
from cgru_cli.options.old_programs import OldProgramsOptions

PYMARIAN = Path(sys.executable).with_name("pymarian")
LINES = 8  # of a text
NUMBER = re.compile(r"(?<![^\s=,:-])-?\d+\.\d+(?:e[-+]\d+)?(?![^\s,])|(?<=,)1(?=\s)|\d\.?\d*e-\d+")
THEANO = "THEANO_FLAGS=mode=FAST_RUN,floatX=float32,device=cpu,on_unused_input=warn"


def write_old_programs(folder):
    """Write the programs, in a version that starts faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(old_programs, "INTERPRETER", (str(prepared.folder() / "cgru"),))
        old_programs.run(str(folder), OldProgramsOptions(quiet=True))
    return folder


def write_marian(folder):
    """Write Marian's own programs under their names, restricted to one processor."""
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    commands = {"": "train", "-decoder": "decode", "-scorer": "score", "-vocab": "vocab"}
    for name, command in commands.items():
        threads = "" if command == "vocab" else " --cpu-threads 1"
        program = folder / f"marian{name}"
        program.write_text(f'#!/bin/sh\nexec {PYMARIAN} {command} "$@"{threads}\n')
        program.chmod(0o755)
    (folder / "build").symlink_to(folder)
    return folder


def run(script, folder, **paths):
    """Run a shell script in a folder; return its standard output."""
    (folder / "script.sh").write_text(script)
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **{k: str(v) for k, v in paths.items()}}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "script.sh"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def model_folder(path, name, *, lines=LINES):
    """A copy of a reference case, with links to its files and shortened texts."""
    path.mkdir()
    for file in need(FIXTURES / name).iterdir():
        if file.name in ("src.txt", "trg.txt"):
            text = file.read_text("utf-8").split("\n")[:lines]
            (path / file.name).write_text("".join(f"{line}\n" for line in text), "utf-8")
        elif file.is_file():
            (path / file.name).symlink_to(file)
    return path


def same(ours, theirs, tolerance=3e-4):
    """Check for equal text, and numbers that differ only by rounding."""
    texts = [text.splitlines() for text in (ours, theirs)]
    shapes = [[NUMBER.sub("#", line).rstrip() for line in lines] for lines in texts]
    assert shapes[0] == shapes[1]
    numbers = [np.array([float(n) for n in NUMBER.findall(text)]) for text in (ours, theirs)]
    np.testing.assert_allclose(*numbers, rtol=tolerance, atol=tolerance)
    assert ours.strip()


def first(text, lines=LINES):
    """The first lines of a text."""
    return "".join(f"{line}\n" for line in text.splitlines()[:lines])


def entries(text, sentences=LINES):
    """The entries of an n-best list, without padding."""
    lines = [line for line in text.split("\n") if line and "-10000000.0" not in line]
    return "".join(f"{line}\n" for line in lines if int(line.split(" ||| ")[0]) < sentences)


def best_of(text, sentences=LINES):
    """The best hypothesis of each sentence of an n-best list."""
    best = {}
    for line in entries(text, sentences).splitlines():
        number, hypothesis = line.split(" ||| ")[:2]
        best.setdefault(number, hypothesis)
    return "".join(f"{hypothesis}\n" for hypothesis in best.values())


def hypotheses(text, sentences=LINES):
    """An n-best list without its scores."""
    fields = (line.split(" ||| ") for line in entries(text, sentences).splitlines())
    return "".join(f"{number} ||| {hypothesis}\n" for number, hypothesis, *_ in fields)
