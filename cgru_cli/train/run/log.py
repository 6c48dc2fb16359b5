"""The log of a training run: lines for people and scripts, and JSON records for programs."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from ...errors import reading, writing
from ...system import terminal
from ...system.atomic_files import atomic_write
from ...system.line_writer import is_stream
from .progress import Progress

REDRAW = 0.1  # minimum seconds between updates of the progress line


class TrainingLog:
    """Writes lines to standard error and to a file, and records to a file of JSON lines.

    Appends to both files, unbuffered. resumed: the number of updates after which training resumes,
    0 for a new run; drops the records of later updates, and records of this update for which
    `is_before` is false, because the new run writes them again. A partial last line gets a line
    break in the log and is dropped from the records. Lines also go to standard error unless
    `quiet`; the progress line appears only there, and only on a terminal. valid: another file for
    the lines of validation. Raises CgruError if a file cannot be written.
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
    ):
        self._quiet = quiet
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
                (f"Resuming after update {resumed}" if resumed else "Training begins again")
                + (f"; ignore later lines above ({dropped} records removed)" if dropped else "")
            )

    def line(self, text: str, *, of_validation: bool = False) -> None:
        """Write one line of text, preceded by the time."""
        line = f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n"
        for file in (self._log, self._valid if of_validation else None):
            if file:
                _append(file, line.encode("utf-8", errors="replace"))
        if not self._quiet:
            terminal.write((terminal.CLEAR if self._drawn else "") + line)
            self._drawn = False

    def record(self, kind: str, progress: Progress, **values: Any) -> None:
        """Write a JSON object for programs, with null for numbers that are not finite."""
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
        """Replace the progress line at the bottom of a terminal, at most every REDRAW seconds."""
        now = time.monotonic()
        if self._quiet or now - self._redrawn < REDRAW or not terminal.is_terminal():
            return
        self._redrawn, self._drawn = now, True
        terminal.write(terminal.CLEAR + text[: shutil.get_terminal_size().columns - 1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._drawn:
            terminal.write(terminal.CLEAR)
            self._drawn = False
        self._files.close()


def _finite(value: Any) -> Any:
    """The value, with None instead of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _appending(path: Path) -> BinaryIO:
    """Open a file to append lines; ends a partial last line first."""
    with writing(path):
        file = open(path, "ab" if is_stream(path) else "ab+", buffering=0)  # noqa: SIM115
        if file.readable() and file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


def _append(file: BinaryIO, line: bytes) -> None:
    with writing(file.name):
        done = file.write(line)
        while done < len(line):  # on a nearly full disk, a write may be partial
            done += file.write(line[done:])


def _drop_later(path: Path, updates: int, is_before: Callable[[Mapping[str, Any]], bool]) -> int:
    """Drop the records after this update (0: all records); returns the number dropped."""
    if not path.exists():
        return 0
    with reading(path), open(path, "rb") as file:
        lines = file.readlines()
    kept = [line for line in lines if updates and _is_up_to(line, updates, is_before)]
    if len(kept) < len(lines):
        with atomic_write(path) as file:
            file.writelines(kept)
    return len(lines) - len(kept)


def _is_up_to(line: bytes, updates: int, is_before: Callable[[Mapping[str, Any]], bool]) -> bool:
    try:
        entry = json.loads(line)
        if not line.endswith(b"\n") or type(entry["update"]) is not int:
            return False
        return entry["update"] < updates or (entry["update"] == updates and is_before(entry))
    except (ValueError, KeyError, TypeError):
        return False
