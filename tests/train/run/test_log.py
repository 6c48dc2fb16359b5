"""Lines as Marian prints them; records that a crash neither repeats nor contradicts."""

import io
import json
import math
import re
import sys

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.train.run import log as module
from cgru_cli.train.run.log import Interval, TrainingLog, training_line, validation_line
from cgru_cli.train.run.patience import Patience, Record
from cgru_cli.train.run.progress import Progress

TIME = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] "
# What Marian 1.12 printed: 640 sentences of 7,880 words, once with each --cost-type.
PROGRESS = Progress(epochs=0, updates=20, batches=20, sentences=640, words=7880, seconds=9.0)
COST = 77.20562744 * 640


@pytest.mark.parametrize(
    "kind, seconds, expected",
    [
        (
            "cross-entropy", 7880 / 8879.60,
            "Ep. 1 : Up. 20 : Sen. 640 : Cost 77.20562744 : Time 0.89s : 8879.60 words/s"
            " : gNorm 0.6972 : L.r. 1.0000e-04",
        ),
        (
            "ce-mean-words", 7880 / 6766.25,
            "Ep. 1 : Up. 20 : Sen. 640 : Cost 6.27050781 : Time 1.16s : 6766.25 words/s"
            " : gNorm 0.6972 : L.r. 1.0000e-04",
        ),
        (
            "perplexity", 7880 / 9541.98,
            "Ep. 1 : Up. 20 : Sen. 640 : Cost 528.74578857 : Time 0.83s : 9541.98 words/s"
            " : gNorm 0.6972 : L.r. 1.0000e-04",
        ),
    ],
)  # fmt: skip
def test_training_lines(kind, seconds, expected):
    interval = Interval(cost=COST, words=7880, sentences=640, seconds=seconds, norm=0.69717)
    line = training_line(PROGRESS, interval, kind, 1e-4)
    cost = re.compile(r"Cost ([\d.]+)")
    # Marian's own sums are of 32 bits.
    assert float(cost.search(line)[1]) == pytest.approx(float(cost.search(expected)[1]), rel=1e-6)
    assert len(cost.search(line)[0]) == len(cost.search(expected)[0])
    assert cost.sub("", line) == cost.sub("", expected)


def test_a_training_line_without_rate():
    progress = Progress(epochs=1, updates=1000, sentences=12345)
    interval = Interval(cost=4.123 * 50, words=50, sentences=5, seconds=12.34, norm=1.2345)
    assert training_line(progress, interval, "ce-mean-words") == (
        "Ep. 2 : Up. 1000 : Sen. 12,345 : Cost 4.12300000 : Time 12.34s : 4.05 words/s"
        " : gNorm 1.2345"
    )


def test_validation_lines():
    """Series and lines of one run of Marian."""
    patience = Patience(["cross-entropy", "bleu", "chrf"])
    lines = []
    for update, values in {
        20: (74.1068, 0.0, 8.61848),
        40: (73.752, 0.0, 8.49062),
        60: (533.915, 0.0, 9.36702),
    }.items():
        for metric, value in zip(patience.records, values, strict=True):
            patience.update(metric, value, update)
            record = patience.records[metric]
            lines.append(validation_line(Progress(epochs=2, updates=update), value, record))
    assert lines == [
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


def test_an_interval_by_hand():
    interval = Interval()
    assert math.isnan(interval.mean_cost("cross-entropy"))
    assert interval.words_per_second == 0
    more = {"words": 10, "sentences": 2, "seconds": 0.5}
    interval = interval.add(cost=40.0, norm=3.0, updates=1, **more)
    assert interval.norm == 3.0  # weight 2 / 2
    interval = interval.add(cost=20.0, norm=6.0, updates=2, **more)
    assert interval.norm == pytest.approx(3 + 2 / 3 * 3)
    interval = interval.add(cost=30.0, norm=math.nan, updates=3, **more)
    assert interval.norm == pytest.approx(5)
    assert interval.mean_cost("cross-entropy") == 15
    assert interval.mean_cost("ce-mean-words") == 3
    assert interval.mean_cost("perplexity") == pytest.approx(math.e**3)
    assert interval.words_per_second == 20
    later = interval.add(cost=0.0, norm=5 + 101, updates=10**6, **more)
    assert later.norm == pytest.approx(5 + 2)  # weight 2 / 101
    assert interval.shown() == Interval(norm=interval.norm)


@pytest.mark.parametrize("cost", [10**6, math.inf])
def test_a_perplexity_beyond_all_numbers(cost):
    assert Interval(cost=cost, words=1, sentences=1).mean_cost("perplexity") == math.inf


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "train.log", tmp_path / "metrics.jsonl"


def train(log, progress):
    log.training(progress, Interval(30.0, 10, 2, 0.5, 1.5), "ce-mean-words", 1e-4)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_go_to_the_file_and_to_standard_error(paths, capsys):
    with TrainingLog(*paths) as log:
        log.line("Training started")
        log.end_of_epoch(PROGRESS)
        log.line("Starten: \u2028 \ud800")
        assert paths[0].read_text().count("\n") == 4  # written at once
    text = paths[0].read_text()
    assert re.fullmatch(
        f"{TIME}Training started\n{TIME}Seen 640 samples\n"
        f"{TIME}Starting data epoch 2 in logical epoch 2\n{TIME}Starten: \u2028 [?]\n",
        text,
    )
    assert capsys.readouterr().err.startswith(text[:40])


def test_quiet(paths, capsys):
    with TrainingLog(*paths, quiet=True) as log:
        log.line("Training started")
    assert capsys.readouterr().err == ""
    assert "Training started" in paths[0].read_text()


def test_records(paths):
    with TrainingLog(*paths) as log:
        train(log, PROGRESS)
        log.validation(PROGRESS, 31.5, Record("bleu", 31.5, 20, 0))
        log.validation(PROGRESS, math.nan, Record("chrf", 50.0, 10, 2))
        log.record("skipped", PROGRESS, pairs=[3, 4], loss=math.inf)
    common = {"epoch": 1, "update": 20, "sentences": 640, "words": 7880, "total_seconds": 9.0}
    valid = common | {"type": "valid"}
    assert records(paths[1]) == [
        common | {
            "type": "train", "cost_type": "ce-mean-words", "cost": 3.0, "seconds": 0.5,
            "words_per_second": 20.0, "gradient_norm": 1.5, "learning_rate": 1e-4,
        },
        valid | {"metric": "bleu", "value": 31.5, "new_best": True, "best": 31.5, "stalled": 0},
        valid | {"metric": "chrf", "value": None, "new_best": False, "best": 50.0, "stalled": 2},
        common | {"type": "skipped", "pairs": [3, 4], "loss": None},
    ]  # fmt: skip
    assert "[valid] Ep. 1 : Up. 20 : chrf : nan : stalled 2 times" in paths[0].read_text()


@pytest.mark.parametrize("resumed", [0, 5, 10, 15, 40])
@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_crash_neither_repeats_nor_contradicts(paths, resumed, cut):
    """A run of 40 updates, killed in the middle of a line and resumed, leaves the same records."""

    def run(start, end):
        with TrainingLog(*paths, resumed=start) as log:
            for update in range(start + 1, end + 1):
                if update % 5 == 0:
                    train(log, Progress(updates=update))

    run(0, 40)
    whole = records(paths[1])
    if resumed < 40:
        content = paths[1].read_bytes()
        paths[1].write_bytes(content[: len(content) - cut])
    run(resumed, 40)
    assert records(paths[1]) == whole
    assert [record["update"] for record in whole] == list(range(5, 41, 5))
    said = f"Resuming after update {resumed}" in paths[0].read_text()
    assert said
    assert ("records)" in paths[0].read_text()) is (resumed < 40)


def test_damaged_records_are_dropped(paths):
    lines = [b'{"update": 3}\n', b"\xff\x00\n", b"[]\n", b'{"update": "4"}\n', b'{"update": 5}\n']
    paths[1].write_bytes(b"".join(lines) + b'{"update": 6}')
    TrainingLog(*paths, resumed=9).close()
    assert paths[1].read_bytes() == lines[0] + lines[4]
    assert "(4 records)" in paths[0].read_text()


def test_records_of_the_last_update_that_were_made_after_its_save_are_dropped(paths):
    lines = [b'{"update": 5, "type": "train"}\n', b'{"update": 5, "type": "valid"}\n']
    paths[1].write_bytes(b"".join(lines))
    TrainingLog(*paths, resumed=5, is_before=lambda record: record["type"] == "train").close()
    assert paths[1].read_bytes() == lines[0]
    assert "(1 records)" in paths[0].read_text()


def test_a_line_that_was_cut_off_is_ended(paths):
    paths[0].write_bytes(b"[2018-01-01 00:00:00] Ep. 1 : Up. 7 : Se")
    with TrainingLog(*paths, resumed=5) as log:
        log.line("Training started")
    lines = paths[0].read_text().splitlines()
    assert lines[0].endswith(" : Se")
    assert lines[1].endswith("] Resuming after update 5")
    assert lines[2].endswith("] Training started")


def test_a_new_training_says_nothing(paths):
    TrainingLog(*paths).close()
    assert paths[0].read_bytes() == paths[1].read_bytes() == b""


def test_files_that_cannot_be_written(paths, monkeypatch):
    with pytest.raises(CgruError, match=r"none/train\.log: cannot be written: No such file"):
        TrainingLog(paths[0].parent / "none" / "train.log", paths[1])

    class Full(io.BytesIO):
        name = "metrics.jsonl"

        def write(self, data):
            raise OSError(28, "No space left on device")

    with TrainingLog(*paths) as log:
        log._records = Full()
        with pytest.raises(CgruError, match=r"metrics\.jsonl: cannot be written: No space left"):
            log.record("train", PROGRESS)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_of_progress(paths, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "REDRAW", 0)
    monkeypatch.setenv("COLUMNS", "20")
    with TrainingLog(*paths) as log:
        log.draw("Up. 7")
        log.draw("Up. 8" + " long" * 20)
        log.line("Seen")
        log.line("more")
        log.draw("Up. 9")
    drawn = re.sub(TIME, "", terminal.getvalue())
    clear = "\r\x1b[K"
    assert drawn == (
        f"{clear}Up. 7{clear}Up. 8 long long lon{clear}Seen\nmore\n{clear}Up. 9{clear}"
    )
    assert "Up." not in paths[0].read_text()


def test_no_line_of_progress_elsewhere(paths, monkeypatch, capsys):
    monkeypatch.setattr(module, "REDRAW", 0)
    with TrainingLog(*paths) as log:
        log.draw("Up. 7")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", None)
    with TrainingLog(*paths) as log:
        log.draw("Up. 7")
        log.line("Seen")


def test_the_line_of_progress_is_not_drawn_all_the_time(paths, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with TrainingLog(*paths) as log:
        for i in range(1000):
            log.draw(f"Up. {i}")
        assert terminal.getvalue().count("Up.") < 10
