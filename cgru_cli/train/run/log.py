"""The log of a training: Marian's lines for people and scripts, and JSON lines for programs.

The lines are those of Marian 1.12, its time in front of each.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from ...errors import reading, writing
from ...system import terminal
from ...system.atomic_files import atomic_write
from .logical_epoch import WHOLE_TEXT, LogicalEpoch
from .patience import Record
from .progress import Progress

CostType = Literal["risk", "cross-entropy", "ce-mean-words", "perplexity"]

NORM_WINDOW = 100  # updates that the average of gradient norms looks back
REDRAW = 0.1  # seconds between two states of the progress line


@dataclass(frozen=True)
class Interval:
    """Sums since the last line of training, and the running average of the gradient's norm."""

    cost: float = 0.0  # nats
    words: int = 0  # target words, EOS counted
    sentences: int = 0
    seconds: float = 0.0
    norm: float = 0.0

    def add(
        self,
        *,
        cost: float,
        words: int,
        sentences: int,
        seconds: float,
        norm: float,
        updates: int,
    ) -> Self:
        """With one more update, the `updates`-th; norm is averaged as Marian does.

        A norm that is not finite is left out of the average.
        """
        weight = 2 / (min(NORM_WINDOW, updates) + 1)
        change = weight * (norm - self.norm) if math.isfinite(norm) else 0.0
        return type(self)(
            self.cost + cost,
            self.words + words,
            self.sentences + sentences,
            self.seconds + seconds,
            self.norm + change,
        )

    def shown(self) -> Self:
        """The sums reset after a line was written; the average continues."""
        return type(self)(norm=self.norm)

    def mean_cost(self, kind: CostType) -> float:
        """The cost a sentence or a word, or the perplexity; NaN if nothing was summed."""
        count = self.sentences if kind in ("cross-entropy", "risk") else self.words
        mean = self.cost / count if count else math.nan
        if kind != "perplexity":
            return mean
        return math.exp(mean) if mean < 700 else mean * math.inf

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds if self.seconds else 0.0


def training_line(
    progress: Progress,
    interval: Interval,
    kind: CostType,
    learning_rate: float | None = None,
    epoch: LogicalEpoch = WHOLE_TEXT,
) -> str:
    """`Ep. 1 : Up. 1000 : Sen. 12,345 : Cost ...`; the rate is that of the next update."""
    line = (
        f"Ep. {epoch.number(progress)} : Up. {progress.updates} : Sen. {progress.sentences:,}"
        f" : Cost {interval.mean_cost(kind):.8f} : Time {interval.seconds:.2f}s"
        f" : {interval.words_per_second:.2f} words/s : gNorm {interval.norm:.4f}"
    )
    return line if learning_rate is None else f"{line} : L.r. {learning_rate:.4e}"


def validation_line(
    progress: Progress, value: float, record: Record, epoch: LogicalEpoch = WHOLE_TEXT
) -> str:
    """`[valid] Ep. 1 : Up. 1000 : bleu : 31.4 : new best`; record: with this value in it."""
    if record.stalled:
        best = math.nan if record.best is None else record.best
        outcome = f"stalled {record.stalled} times (last best: {best:.6g})"
    else:
        outcome = "new best"
    return (
        f"[valid] Ep. {epoch.number(progress)} : Up. {progress.updates} : {record.metric}"
        f" : {value:.6g} : {outcome}"
    )


class TrainingLog:
    """Writes lines to standard error and to a file, and records to a file of JSON lines.

    Both files are appended to, and what is written is out at once. resumed: the number of updates
    that training goes on from, 0 if it begins: records of later updates are dropped, those that
    the new run makes take their place, and the log says so; of records of that very update, those
    that `is_before` denies. A last line that was cut off is ended
    in the log and dropped from the records. Without `quiet`, lines go to standard error too; a
    line of progress is drawn only there, and only on a terminal. valid: a file for the lines of
    validation alone, appended to as well; epoch: which the lines count. Raises CgruError if a file
    cannot be written.
    """

    def __init__(
        self,
        log: Path,
        records: Path,
        *,
        resumed: int = 0,
        is_before: Callable[[Mapping[str, Any]], bool] = lambda record: True,
        quiet: bool = False,
        valid: Path | None = None,
        epoch: LogicalEpoch = WHOLE_TEXT,
    ):
        self._quiet, self._epoch = quiet, epoch
        self._drawn = False
        self._redrawn = -math.inf
        dropped = _drop_later(records, resumed, is_before)
        with contextlib.ExitStack() as stack:
            self._log = stack.enter_context(_appending(log))
            self._records = stack.enter_context(_appending(records))
            self._valid = stack.enter_context(_appending(valid)) if valid else None
            self._files = stack.pop_all()
        if resumed or dropped:
            self.line(
                f"Resuming after update {resumed}"
                + (f"; later lines above do not count ({dropped} records)" if dropped else "")
            )

    def line(self, text: str, *, of_validation: bool = False) -> None:
        """One line of text, the time in front of it."""
        line = f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n"
        _append(self._log, line.encode("utf-8", errors="replace"))
        if of_validation and self._valid:
            _append(self._valid, line.encode("utf-8", errors="replace"))
        if not self._quiet:
            terminal.write((terminal.CLEAR if self._drawn else "") + line)
            self._drawn = False

    def training(
        self,
        progress: Progress,
        interval: Interval,
        kind: CostType,
        learning_rate: float,
        *,
        show_rate: bool = False,
        ending: str = "",
        recorded: bool = True,
    ) -> None:
        """Write line (with this ending) and record of the updates since the last."""
        shown = learning_rate if show_rate else None
        self.line(training_line(progress, interval, kind, shown, self._epoch) + ending)
        if not recorded:
            return
        self.record(
            "train",
            progress,
            cost_type=kind,
            cost=interval.mean_cost(kind),
            seconds=interval.seconds,
            words_per_second=interval.words_per_second,
            gradient_norm=interval.norm,
            learning_rate=learning_rate,
        )

    def validation(self, progress: Progress, value: float, record: Record) -> None:
        """Write line and record of a metric, after `Patience.update` has noted it."""
        self.line(validation_line(progress, value, record, self._epoch), of_validation=True)
        self.record(
            "valid",
            progress,
            metric=record.metric,
            value=value,
            new_best=not record.stalled,
            best=record.best,
            stalled=record.stalled,
        )

    def end_of_epoch(self, progress: Progress) -> None:
        """Write Marian's two lines; progress: at the end of the epoch, before the next."""
        self.line(f"Seen {progress.sentences:,} samples")
        following = progress.next_epoch()
        self.line(
            f"Starting data epoch {following.epoch} in logical epoch "
            f"{self._epoch.number(following)}"
        )

    def record(self, kind: str, progress: Progress, **values: Any) -> None:
        """Write a JSON object for programs; numbers that are not finite become null."""
        entry = {
            "type": kind,
            "epoch": progress.epoch,
            "update": progress.updates,
            "sentences": progress.sentences,
            "words": progress.words,
            "total_seconds": round(progress.seconds, 3),
            **values,
        }
        _append(self._records, (json.dumps(_finite(entry), allow_nan=False) + "\n").encode())

    def draw(self, text: str) -> None:
        """Replace the line of progress at the bottom of a terminal, not more often than useful."""
        now = time.monotonic()
        if self._quiet or now - self._redrawn < REDRAW or not terminal.is_terminal():
            return
        self._redrawn, self._drawn = now, True
        terminal.write(terminal.CLEAR + text[: shutil.get_terminal_size().columns - 1])

    def close(self) -> None:
        if self._drawn:
            terminal.write(terminal.CLEAR)
            self._drawn = False
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _finite(value: Any) -> Any:
    """A value with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _appending(path: Path) -> BinaryIO:
    """A file to append whole lines to; a line that was cut off in it is ended."""
    with writing(path):
        file = open(path, "ab+", buffering=0)  # noqa: SIM115
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


def _append(file: BinaryIO, line: bytes) -> None:
    with writing(file.name):
        done = file.write(line)
        while done < len(line):  # a disk that is filling up takes what it has room for
            done += file.write(line[done:])


def _drop_later(path: Path, updates: int, is_before: Callable[[Mapping[str, Any]], bool]) -> int:
    """Keep the records up to so many updates (none of a training that begins); how many went."""
    if not path.exists():
        return 0
    kept, dropped = [], 0
    for line in _lines(path):
        if updates and _is_up_to(line, updates, is_before):
            kept.append(line)
        else:
            dropped += 1
    if dropped:
        with atomic_write(path) as file:
            file.writelines(kept)
    return dropped


def _lines(path: Path) -> Iterator[bytes]:
    with reading(path), open(path, "rb") as file:
        yield from file


def _is_up_to(line: bytes, updates: int, is_before: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Whether a line is a whole record of what led to so many updates."""
    try:
        entry = json.loads(line)
        if not line.endswith(b"\n") or type(entry["update"]) is not int:
            return False
        return entry["update"] < updates or (entry["update"] == updates and is_before(entry))
    except (ValueError, KeyError, TypeError):
        return False
