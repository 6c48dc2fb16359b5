"""Reports of a training run: Marian's lines, records, and what other options ask for."""

import dataclasses
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from cgru_cli.options.train import TrainOptions
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.run import reporter as module
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.run.log import TrainingLog
from cgru_cli.train.run.patience import Patience, Record
from cgru_cli.train.run.progress import Frequency, Interval, LogicalEpoch, Progress
from cgru_cli.train.run.reporter import Reporter
from cgru_cli.train.run.state import Course

DEFAULTS = TrainOptions()
PROGRESS = Progress(epochs=1, updates=7, batches=3, sentences=24, words=99, seconds=2.0)
INTERVAL = Interval(cost=30.0, words=10, sentences=4, seconds=0.5, norm=1.5)
COURSE = Course(PROGRESS, interval=INTERVAL)
MASK = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], np.float32)  # two sentences of five words
BATCH = [(SimpleNamespace(target_mask=MASK), {"source": 1}), "of the second replica"]


class Board:
    """Records its calls."""

    def __init__(self):
        self.calls = []

    def write(self, updates, values):
        self.calls.append((updates, values))


class Probe:
    """Checks its arguments, and returns the number that norms are divided by."""

    def norms(self, examples, masks):
        assert (examples, masks) == BATCH[0]
        return SimpleNamespace(to_json=lambda count: {"cost": count})


@pytest.fixture
def report(tmp_path):
    """A function that makes a reporter, calls it, and returns the lines and records."""

    def call(what, *arguments, cost_type="cross-entropy", after=(), options=DEFAULTS, **parts):
        paths = tmp_path / "log", tmp_path / "records"
        plan = SimpleNamespace(
            options=options,
            cost_type=cost_type,
            after=after,
            logical_epoch=LogicalEpoch.parse(()),
            conventions=TrainingPlan(options, can_validate=True).conventions,
        )
        setup = SimpleNamespace(plan=plan, folder=RunFolder(tmp_path / "m.npz"))
        with TrainingLog(*paths, quiet=True) as log:
            reporter = Reporter(log, setup, **parts)
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
    lines, records = report("training", COURSE, 1e-3, cost_type=cost_type, board=board)
    assert lines == [
        f"Ep. 2 : Up. 7 : Sen. 24 : Cost {cost:.8f} : Time 0.50s : 20.00 words/s : gNorm 1.5000"
        " : L.r. 1.0000e-03 : 0.0% of epoch 2"
    ]
    assert records == [
        {
            "type": "train",
            "epoch": 2,
            "update": 7,
            "sentences": 24,
            "words": 99,
            "total_seconds": 2.0,
            "cost_type": cost_type,
            "cost": cost,
            "seconds": 0.5,
            **({"cost_per_word": 3.0} if cost_type == "cross-entropy" else {}),
            "words_per_second": 20.0,
            "gradient_norm": 1.5,
            "learning_rate": 1e-3,
        }
    ]
    values = {cost_type: cost, "words per second": 20.0, "gradient norm": 1.5}
    values = {f"train/{name}": value for name, value in values.items()}
    assert board.calls == [(7, values | {"train/learning rate": 1e-3})]


def test_the_share_done_is_shown_if_there_is_a_limit_but_not_in_marians_lines(report):
    marian = TrainOptions(compat="marian")
    after = (Frequency(10),)
    for what, recorded in (("line", 0), ("training", 1)):
        (*_, line), records = report(what, COURSE, 1e-3, after=after)
        assert line.endswith(" : L.r. 1.0000e-03 : 0.0% of epoch 2 : 70.0%")
        assert len(records) == recorded
        (*_, line), _ = report(what, COURSE, 1e-3, after=after, options=marian)
        assert line.endswith(" : gNorm 1.5000")
        reported = TrainOptions(compat="marian", lr_report=True)
        (*_, line), _ = report(what, COURSE, 1e-3, after=after, options=reported)
        assert line.endswith(" : L.r. 1.0000e-03")


@pytest.mark.parametrize(("cost_type", "count"), [("cross-entropy", 2), ("ce-mean-words", 5)])
def test_gradients_are_averaged_as_costs_are(report, cost_type, count):
    given = COURSE, 1e-3
    _, records = report("training", *given, BATCH, cost_type=cost_type, probe=Probe())
    assert [record["type"] for record in records] == ["train", "gradients"]
    assert (records[1]["cost"], records[1]["update"]) == (count, 7)


def test_no_gradients_without_the_option_or_before_an_update(report):
    assert report("gradients", PROGRESS, BATCH) == ([], [])
    _, records = report("training", COURSE, 1e-3, None, probe=Probe())
    assert [record["type"] for record in records] == ["train"]


def test_a_skipped_update(report):
    outcome = SimpleNamespace(cost=float("inf"), norm=2.5)
    lines, records = report("skipped", PROGRESS, outcome)
    assert lines == ["Update 7 skipped: cost inf, gradient norm 2.5 (epoch 2, batch 3)"]
    (record,) = records
    assert (record["type"], record["batch"], record["cost"], record["norm"]) == (
        "skipped",
        3,
        None,
        2.5,
    )


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


def test_the_end_of_an_epoch(tmp_path, report):
    plan = SimpleNamespace(options=TrainOptions(), after=(), logical_epoch=LogicalEpoch.parse(()))
    with TrainingLog(tmp_path / "log", tmp_path / "records", quiet=True) as log:
        reporter = Reporter(log, SimpleNamespace(plan=plan, folder=None))
        reporter.end_of_epoch(PROGRESS, waited=0.25, seconds=1.5)
    lines = [line.partition("] ")[2] for line in (tmp_path / "log").read_text().splitlines()]
    assert lines == ["Seen 24 samples", "Starting data epoch 3 in logical epoch 3"]
    record = json.loads((tmp_path / "records").read_text())
    assert (record["type"], record["waited"], record["of"]) == ("data", 0.25, 1.5)


def test_a_validation(report):
    board, record = Board(), Record("bleu", 31.5, 7, 0)
    lines, records = report("validation", PROGRESS, 31.5, record, board=board)
    assert lines == ["[valid] Ep. 2 : Up. 7 : bleu : 31.5 : new best"]
    assert records == [
        {
            "type": "valid",
            "epoch": 2,
            "update": 7,
            "sentences": 24,
            "words": 99,
            "total_seconds": 2.0,
            "metric": "bleu",
            "value": 31.5,
            "new_best": True,
            "best": 31.5,
            "stalled": 0,
        }
    ]
    assert board.calls == [(7, {"valid/bleu": 31.5})]


def test_a_new_best_below_epsilon_is_recorded_although_it_counts_as_stalled(report):
    lines, (record,) = report("validation", PROGRESS, 31.5, Record("bleu", 31.5, 7, 1))
    assert lines == ["[valid] Ep. 2 : Up. 7 : bleu : 31.5 : stalled 1 times (last best: 31.5)"]
    assert record["new_best"] and record["stalled"] == 1


def test_a_validation_that_is_not_finite(report):
    lines, records = report("validation", PROGRESS, math.nan, Record("chrf", 50.0, 3, 2))
    assert lines == ["[valid] Ep. 2 : Up. 7 : chrf : nan : stalled 2 times (last best: 50)"]
    (record,) = records
    assert (record["value"], record["new_best"], record["best"], record["stalled"]) == (
        None,
        False,
        50.0,
        2,
    )


def test_pictures_if_they_are_asked_for(report, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(module.curves, "draw", lambda *paths: drawn.append(paths))
    report("draw")
    assert drawn == []
    folder = RunFolder(tmp_path / "m.npz")
    report("draw", options=TrainOptions(plot=True))
    assert drawn == [(folder.records, folder.model)]


# -- Marian's lines --------------------------------------------------------------------------------

# What Marian 1.12 printed: 640 sentences of 7,880 words, once with each --cost-type.
MARIANS = Progress(epochs=0, updates=20, batches=20, sentences=640, words=7880, seconds=9.0)
COST = 77.20562744 * 640


@pytest.mark.parametrize(
    "kind, seconds, expected",
    [
        (
            "cross-entropy",
            7880 / 8879.60,
            "Ep. 1 : Up. 20 : Sen. 640 : Cost 77.20562744 : Time 0.89s : 8879.60 words/s"
            " : gNorm 0.6972 : L.r. 1.0000e-04",
        ),
        (
            "ce-mean-words",
            7880 / 6766.25,
            "Ep. 1 : Up. 20 : Sen. 640 : Cost 6.27050781 : Time 1.16s : 6766.25 words/s"
            " : gNorm 0.6972 : L.r. 1.0000e-04",
        ),
    ],
)
def test_training_lines(report, kind, seconds, expected):
    interval = Interval(cost=COST, words=7880, sentences=640, seconds=seconds, norm=0.69717)
    marian = TrainOptions(compat="marian", lr_report=True)
    given = Course(MARIANS, interval=interval), 1e-4
    (line,), _ = report("line", *given, cost_type=kind, options=marian)
    cost = re.compile(r"Cost ([\d.]+)")
    # Marian sums in 32 bits.
    assert float(cost.search(line)[1]) == pytest.approx(float(cost.search(expected)[1]), rel=1e-6)
    assert len(cost.search(line)[0]) == len(cost.search(expected)[0])
    assert cost.sub("", line) == cost.sub("", expected)


def test_a_training_line_without_rate(report):
    progress = Progress(epochs=1, updates=1000, sentences=12345)
    interval = Interval(cost=4.123 * 50, words=50, sentences=5, seconds=12.34, norm=1.2345)
    course, marian = Course(progress, interval=interval), TrainOptions(compat="marian")
    lines, _ = report("line", course, 1e-4, cost_type="ce-mean-words", options=marian)
    assert lines == [
        "Ep. 2 : Up. 1000 : Sen. 12,345 : Cost 4.12300000 : Time 12.34s : 4.05 words/s"
        " : gNorm 1.2345"
    ]


def test_validation_lines(report):
    """Values and lines of one run of Marian."""
    patience = Patience(["cross-entropy", "bleu", "chrf"], TrainOptions())
    for update, values in {
        20: (74.1068, 0.0, 8.61848),
        40: (73.752, 0.0, 8.49062),
        60: (533.915, 0.0, 9.36702),
    }.items():
        for metric, value in zip(patience.records, values, strict=True):
            patience.update(metric, value, update)
            record = patience.records[metric]
            lines, _ = report("validation", Progress(epochs=2, updates=update), value, record)
    assert [line for line in lines if line.startswith("[valid]")] == [
        "[valid] Ep. 3 : Up. 20 : cross-entropy : 74.1068 : new best",
        "[valid] Ep. 3 : Up. 20 : bleu : 0 : new best",
        "[valid] Ep. 3 : Up. 20 : chrf : 8.61848 : new best",
        "[valid] Ep. 3 : Up. 40 : cross-entropy : 73.752 : new best",
        "[valid] Ep. 3 : Up. 40 : bleu : 0 : stalled 1 times (last best: 0)",
        "[valid] Ep. 3 : Up. 40 : chrf : 8.49062 : stalled 1 times (last best: 8.61848)",
        "[valid] Ep. 3 : Up. 60 : cross-entropy : 533.915 : stalled 1 times (last best: 73.752)",
        "[valid] Ep. 3 : Up. 60 : bleu : 0 : stalled 2 times (last best: 0)",
        "[valid] Ep. 3 : Up. 60 : chrf : 9.36702 : new best",
    ]


@pytest.mark.parametrize(("cost_type", "count"), [("cross-entropy", 4), ("ce-mean-words", 10)])
def test_the_numbers_of_labels(report, cost_type, count):
    """Cost * words or sentences of the interval @ words of the last update after all words."""
    interval = dataclasses.replace(INTERVAL, last_words=1234)
    course = Course(dataclasses.replace(PROGRESS, words=56789), interval=interval)
    options = TrainOptions(disp_label_counts=True)
    (line,), _ = report("line", course, 1e-4, cost_type=cost_type, options=options)
    assert f"{30 / count:.8f} * {count} @ 1,234 after 56,789 : Time 0.50s" in line


@pytest.mark.parametrize(
    ("count", "shown"), [(0, []), (3, [0, 1, 2]), (10, range(6)), (41, [*range(6), 10, 20, 40])]
)
def test_a_sample_of_translations(report, count, shown):
    validator = SimpleNamespace(translated=[f"text {i}" for i in range(count)], seconds=1.5)
    lines, _ = report("translations", validator, options=TrainOptions(disp_translations=True))
    assert lines[1:-1] == [f"Best translation {i} : text {i}" for i in shown]
    assert not count or lines[-1] == "Total translation time: 1.50000s"
    validator.translated = ["text"]
    assert report("translations", validator)[0] == lines  # of before
