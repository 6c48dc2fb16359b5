"""The log's files; a crash neither repeats nor contradicts records."""

import io
import json
import math
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from devices import FULL, device, is_device

from cgru_cli.errors import CgruError
from cgru_cli.train.run import log as module
from cgru_cli.train.run.log import TrainingLog
from cgru_cli.train.run.progress import Progress

TIME = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] "
PROGRESS = Progress(epochs=0, updates=20, batches=20, sentences=640, words=7880, seconds=9.0)


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "train.log", tmp_path / "metrics.jsonl"


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_go_to_the_file_and_to_standard_error(paths, capsys):
    with TrainingLog(*paths) as log:
        log.line("Training started")
        log.line("Starten: \u2028 \ud800")
        assert paths[0].read_text().count("\n") == 2  # written at once
    text = paths[0].read_text()
    assert re.fullmatch(f"{TIME}Training started\n{TIME}Starten: \u2028 [?]\n", text)
    assert capsys.readouterr().err.startswith(text[:38])


def test_quiet(paths, capsys):
    with TrainingLog(*paths, quiet=True) as log:
        log.line("Training started")
    assert capsys.readouterr().err == ""
    assert "Training started" in paths[0].read_text()


def test_records(paths):
    with TrainingLog(*paths) as log:
        log.record("skipped", PROGRESS, pairs=[3, 4], loss=math.inf)
    assert records(paths[1]) == [
        {
            "type": "skipped",
            "epoch": 1,
            "update": 20,
            "sentences": 640,
            "words": 7880,
            "total_seconds": 9.0,
            "pairs": [3, 4],
            "loss": None,
        },
    ]


@pytest.mark.parametrize("resumed", [0, 5, 10, 15, 40])
@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_crash_neither_repeats_nor_contradicts(paths, resumed, cut):
    """A run of 40 updates, killed in the middle of a line and resumed, leaves the same records."""

    def run(start, end):
        with TrainingLog(*paths, resumed=start) as log:
            for update in range(start + 1, end + 1):
                if update % 5 == 0:
                    log.record("train", Progress(updates=update), cost=3.0)

    run(0, 40)
    whole = records(paths[1])
    if resumed < 40:
        content = paths[1].read_bytes()
        paths[1].write_bytes(content[: len(content) - cut])
    run(resumed, 40)
    assert records(paths[1]) == whole
    assert [record["update"] for record in whole] == list(range(5, 41, 5))
    line = f"Resuming after update {resumed}" if resumed else "Training begins again"
    said = line in paths[0].read_text()
    assert said
    assert ("records removed)" in paths[0].read_text()) is (resumed < 40)


def test_damaged_records_are_dropped(paths):
    lines = [b'{"update": 3}\n', b"\xff\x00\n", b"[]\n", b'{"update": "4"}\n', b'{"update": 5}\n']
    paths[1].write_bytes(b"".join(lines) + b'{"update": 6}')
    with TrainingLog(*paths, resumed=9):
        pass
    assert paths[1].read_bytes() == lines[0] + lines[4]
    assert "(4 records removed)" in paths[0].read_text()


def test_records_of_the_last_update_that_were_made_after_its_save_are_dropped(paths):
    lines = [b'{"update": 5, "type": "train"}\n', b'{"update": 5, "type": "valid"}\n']
    paths[1].write_bytes(b"".join(lines))
    with TrainingLog(*paths, resumed=5, is_before=lambda record: record["type"] == "train"):
        pass
    assert paths[1].read_bytes() == lines[0]
    assert "(1 records removed)" in paths[0].read_text()


def test_a_line_that_was_cut_off_is_ended(paths):
    paths[0].write_bytes(b"[2018-01-01 00:00:00] Ep. 1 : Up. 7 : Se")
    with TrainingLog(*paths, resumed=5) as log:
        log.line("Training started")
    lines = paths[0].read_text().splitlines()
    assert lines[0].endswith(" : Se")
    assert lines[1].endswith("] Resuming after update 5")
    assert lines[2].endswith("] Training started")


def test_a_new_training_says_nothing(paths):
    with TrainingLog(*paths):
        pass
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


def test_the_progress_line(paths, monkeypatch):
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


def test_no_progress_line_without_a_terminal(paths, monkeypatch, capsys):
    monkeypatch.setattr(module, "REDRAW", 0)
    with TrainingLog(*paths) as log:
        log.draw("Up. 7")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", None)
    with TrainingLog(*paths) as log:
        log.draw("Up. 7")
        log.line("Seen")


def test_the_progress_line_is_not_drawn_all_the_time(paths, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with TrainingLog(*paths) as log:
        for i in range(1000):
            log.draw(f"Up. {i}")
        assert terminal.getvalue().count("Up.") < 10


def test_a_log_may_be_a_pipe_or_a_device(paths):
    os.mkfifo(paths[0])
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(paths[0].read_text)
        with TrainingLog(*paths) as log:
            log.line("Training started")
        assert read.result().endswith("] Training started\n")
    full = device(paths[0].parent / "full", FULL)
    full_error = pytest.raises(CgruError, match="full: cannot be written: No space left")
    with TrainingLog(full, paths[1]) as log, full_error:
        log.line("Training started")
    assert is_device(full)
