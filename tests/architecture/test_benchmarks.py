"""The references of the benchmarks: counted products, and the logs of other programs."""

import importlib
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from cgru_cli.parameters.names import parameters

pytestmark = pytest.mark.long


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EMBEDDING, STATE, WORDS = 3, 5, 11


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.parametrize(
    ("kind", "cell", "reader"),
    [
        ("lm", "lstm", None),
        ("encdec", "gru", None),
        ("encdec", "tanh", "bidirectional"),
        ("seq2seq", "lstm", "reversed"),
        ("seq2seq", "relu", "unidirectional"),
        ("rnnsearch", "gru", None),
        ("rnnsearch", "lstm", None),
        ("cgru", "gru", None),
        ("cgru", "tanh", None),
    ],
)
def test_every_matrix_is_multiplied_once_a_word(load, kind, cell, reader):
    products = load("products")
    structure = products.shallow((EMBEDDING, STATE, WORDS), kind, cell, reader)
    counted = sum(m * n for side in products.sides(structure) for some in side for m, n in some)
    left_out = {"decoder/attention/U_att"}  # of attention
    once_a_sentence = ["decoder/start/"]
    if kind == "encdec":
        once_a_sentence += ["decoder/readout/ctx/", "decoder/level1/cell1/Wc"]
    matrices = [
        parameter
        for parameter in parameters(structure)
        if len(parameter.shape) == 2
        and "embedding" not in parameter.path
        and parameter.path not in left_out
        and not parameter.path.startswith(tuple(once_a_sentence))
    ]
    assert counted == sum(math.prod(parameter.size(structure)) for parameter in matrices)


def test_dependent_products_run_step_by_step(load):
    products = load("products")
    e, d, v = EMBEDDING, STATE, WORDS
    source, target = products.sides(products.shallow((e, d, v), "rnnsearch", "lstm"))
    assert source.by_step == [(d, 4 * d)] * 2
    assert sorted(target.by_step) == sorted([(d, 4 * d), (d, 2 * d), (2 * d, 4 * d)])
    source, target = products.sides(products.shallow((e, d, v), "lm", "tanh"))
    assert source == ([], [])
    assert target.by_step == [(d, d)]


def test_products_count_the_words(load):
    structure = load("products").shallow((3, 4, 7), "lm", "gru")
    for floor in (
        load("products").ScoringProducts(structure, 2, threads=1),
        load("training_products").TrainingProducts(structure, 2, "float32"),
    ):
        floor(0, 5)  # runs, with an incomplete last step


def test_batches_of_all_programs_are_the_same(load, tmp_path):
    peers = load("peers")
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 12, (120, 2))
    for side, name in enumerate(("a", "b")):
        lines = [" ".join([f"{name}{i}"] * n) for i, n in enumerate(lengths[:, side])]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    words = peers.write_batches(
        tmp_path / "a", tmp_path / "b", tmp_path, batch=4, count=9, longest=9
    )
    sides = [(tmp_path / f"ordered.{name}").read_text().splitlines() for name in ("src", "trg")]
    assert [len(side) for side in sides] == [36, 36] and len(words) == 9
    for line, other in zip(*sides, strict=True):  # pairs stay together
        assert line.split()[0][1:] == other.split()[0][1:]
        assert 1 <= len(line.split()) <= 9 and 1 <= len(other.split()) <= 9
    assert len(set(sides[0])) == 36
    for batch, both in enumerate(words):
        mine = [side[4 * batch : 4 * batch + 4] for side in sides]
        assert both == tuple(sum(len(line.split()) + 1 for line in side) for side in mine)
    with pytest.raises(SystemExit, match="pairs of up to"):
        peers.write_batches(tmp_path / "a", tmp_path / "b", tmp_path, batch=9, count=9, longest=9)


PROGRAM = """
import sys, time
for n in range(1, 7):
    time.sleep(0.05)
    end = time.process_time() + 0.04
    while time.process_time() < end: pass
    print(f"Ep. 1 : Up. {n} : Sen. 4 : Time 0.1s : {100 * n}.50 words/s", file=sys.stderr)
sys.exit(%d)
"""


def test_updates_are_timed_by_their_lines(load):
    peers = load("peers")
    command = [sys.executable, "-c", PROGRAM]
    updates = peers.follow([*command[:2], PROGRAM % 0], peers.LINES["marian"], 4, 2, 1)
    assert len(updates.wall) == len(updates.cpu) == 4
    assert all(seconds > 0.08 for seconds in updates.wall)
    assert sum(updates.cpu) > 0.1 and updates.peak > 1
    assert updates.own == [300.5, 400.5, 500.5, 600.5]
    for program, count in ((PROGRAM % 1, 4), (PROGRAM % 0, 5)):  # it fails; ends too early
        with pytest.raises(SystemExit, match="failed: "):
            peers.follow([*command[:2], program], peers.LINES["marian"], count, 2, 1)


def test_speeds_are_of_the_words_of_each_batch(load):
    peers = load("peers")
    words = [(10, 20), (30, 30), (5, 5)]
    ours = peers.Updates([1.0, 2.0, 1.0], [1.0, 1.0, 1.0], [20.0, 15.0, 5.0], 7)
    theirs = peers.Updates([2.0, 6.0, 1.5], [4.0, 4.0, 4.0], [], 9)
    report = peers.report("cgru", ours, words)
    assert "cgru: 30 words/s" in report and "14 target words/s" in report
    assert report.endswith("peak 7 MiB; its log: 14 words/s")
    assert "log" not in peers.report("marian", theirs, words)
    assert peers.compare("marian", theirs, ours) == "2.00 x the words/s of marian, 4.00 x by CPU"


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("cgru", "[2026-11-23 01:00:00] Ep. 1 : Up. 1,234 : Sen. 80 : Cost 7.1 : Time 0.14s"
         " : 1439.12 words/s : gNorm 1.0"),
        ("marian", "[2026-11-23 01:00:00] Ep. 1 : Up. 1234 : Sen. 80 : Cost 7.6 * 264 @ 264 after"
         " 528 : Time 0.19s : 1439.12 words/s"),
        ("nematus", "INFO: [2026-11-23 01:00:00] Epoch: 0 Update: 1234 Loss/word: 7.6 Words/sec:"
         " 1439.12 Sents/sec: 80.1"),
    ],
)  # fmt: skip
def test_lines_of_updates_are_recognised(load, program, line):
    report = re.search(load("peers").LINES[program], line)
    assert (report[1].replace(",", ""), float(report[2])) == ("1234", 1439.12)
