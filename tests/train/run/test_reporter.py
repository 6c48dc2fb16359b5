"""What a run shows: lines and records, to the log and to whatever else is asked for."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from cgru_cli.train.run import reporter as module
from cgru_cli.train.run.end import End
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.run.log import Interval, TrainingLog
from cgru_cli.train.run.patience import Record
from cgru_cli.train.run.progress import Frequency, Progress
from cgru_cli.train.run.reporter import Reporter

PROGRESS = Progress(epochs=1, updates=7, batches=3, sentences=24, words=99, seconds=2.0)
INTERVAL = Interval(cost=30.0, words=10, sentences=4, seconds=0.5, norm=1.5)
MASK = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], np.float32)  # two sentences of five words
BATCH = [(SimpleNamespace(target_mask=MASK), {"source": 1}), "of the second replica"]


class Board:
    """Takes note of what it is told."""

    def __init__(self):
        self.told = []

    def training(self, *values):
        self.told.append(values)

    validation = training


class Probe:
    """Gives back what it has looked at, and what that is divided by."""

    def norms(self, examples, masks):
        assert (examples, masks) == BATCH[0]
        return SimpleNamespace(to_json=lambda count: {"cost": count})


@pytest.fixture
def report(tmp_path):
    """A function that makes a reporter, calls it, and gives the lines and records."""

    def call(what, *arguments, cost_type="cross-entropy", **parts):
        paths = tmp_path / "log", tmp_path / "records"
        with TrainingLog(*paths, quiet=True) as log:
            reporter = Reporter(log, cost_type, **parts)
            for given in arguments if what == "compiling" else [arguments]:
                getattr(reporter, what)(*given)
        lines = [line.partition("] ")[2] for line in paths[0].read_text().splitlines()]
        return lines, [json.loads(line) for line in paths[1].read_text().splitlines()]

    return call


@pytest.mark.parametrize(
    ("cost_type", "cost"), [("cross-entropy", 7.5), ("risk", 7.5), ("ce-mean-words", 3.0)]
)
def test_training(report, cost_type, cost):
    board = Board()
    lines, records = report("training", PROGRESS, INTERVAL, 1e-3, cost_type=cost_type, board=board)
    assert lines == [
        f"Ep. 2 : Up. 7 : Sen. 24 : Cost {cost:.8f} : Time 0.50s : 20.00 words/s : gNorm 1.5000"
        " : L.r. 1.0000e-03"
    ]
    (record,) = records
    assert (record["type"], record["cost_type"], record["cost"]) == ("train", cost_type, cost)
    assert record["learning_rate"] == 1e-3
    assert board.told == [(PROGRESS, INTERVAL, cost_type, 1e-3)]


def test_the_end_is_told_where_it_is_known_and_never_in_marians_lines(report):
    end = End((Frequency(10),), 100)
    for what, recorded in (("first_sign", 0), ("training", 1)):
        (*_, line), records = report(what, PROGRESS, INTERVAL, 1e-3, end=end)
        assert line.endswith(" : L.r. 1.0000e-03 : 70.0% : ETA 1s")
        assert len(records) == recorded
        (*_, line), _ = report(what, PROGRESS, INTERVAL, 1e-3, end=end, as_marian=True)
        assert line.endswith(" : L.r. 1.0000e-03")


@pytest.mark.parametrize(("cost_type", "count"), [("cross-entropy", 2), ("ce-mean-words", 5)])
def test_gradients_are_averaged_as_costs_are(report, cost_type, count):
    given = PROGRESS, INTERVAL, 1e-3
    _, records = report("training", *given, BATCH, cost_type=cost_type, probe=Probe())
    assert [record["type"] for record in records] == ["train", "gradients"]
    assert (records[1]["cost"], records[1]["update"]) == (count, 7)


def test_gradients_that_nobody_asked_for_and_a_run_that_has_not_learnt(report):
    assert report("gradients", PROGRESS, BATCH) == ([], [])
    _, records = report("training", PROGRESS, INTERVAL, 1e-3, None, probe=Probe())
    assert [record["type"] for record in records] == ["train"]


def test_a_skipped_update(report):
    outcome = SimpleNamespace(cost=float("inf"), norm=2.5)
    lines, records = report("skipped", PROGRESS, outcome)
    assert lines == ["Update 7 skipped: cost inf, gradient norm 2.5 (epoch 2, batch 3)"]
    (record,) = records
    assert (record["type"], record["batch"], record["cost"], record["norm"]) == (
        "skipped", 3, None, 2.5,
    )  # fmt: skip


def example(rows, source, target):
    batch = SimpleNamespace(source_mask=np.ones((rows, source)), target=np.ones((rows, target)))
    return SimpleNamespace(batch=batch)


def test_each_shape_is_compiled_once(report):
    groups = [[example(8, 16, 24), example(8, 16, 24)], [example(8, 24, 16)], [example(8, 16, 24)]]
    lines, _ = report("compiling", *([group] for group in groups), devices=2)
    assert lines == [
        "Compiling for batches of 4 pairs, 16 source and 24 target words",
        "Compiling for batches of 4 pairs, 24 source and 16 target words",
    ]


def test_the_end_of_an_epoch(tmp_path):
    with TrainingLog(tmp_path / "log", tmp_path / "records", quiet=True) as log:
        Reporter(log, "risk").end_of_epoch(PROGRESS, waited=0.25, seconds=1.5)
    assert "Starting data epoch 3 in logical epoch 3" in (tmp_path / "log").read_text()
    record = json.loads((tmp_path / "records").read_text())
    assert (record["type"], record["waited"], record["of"]) == ("data", 0.25, 1.5)


def test_a_validation(report):
    board, record = Board(), Record("bleu", 31.5, 7, 0)
    lines, records = report("validation", PROGRESS, 31.5, record, board=board)
    assert lines == ["[valid] Ep. 2 : Up. 7 : bleu : 31.5 : new best"]
    assert [r["metric"] for r in records] == ["bleu"]
    assert board.told == [(PROGRESS, "bleu", 31.5)]


def test_pictures_where_they_are_asked_for(report, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(module.curves, "draw", lambda *paths: drawn.append(paths))
    report("draw")
    assert drawn == []
    folder = RunFolder(tmp_path / "m.npz")
    report("draw", pictures=folder)
    assert drawn == [(folder.records, folder.model)]
