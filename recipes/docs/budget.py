#!/usr/bin/env python3
"""Run a training for a number of CPU minutes, and find the model it had saved by a given minute.

    budget.py run CLOCK MINUTES COMMAND...         run, and write the CPU minutes into CLOCK
    budget.py run CLOCK MINUTES --points "5 10" COMMAND...        keep only the models of points
    budget.py pick CLOCK MINUTES                   the newest model at MINUTES, and its own minutes

CPU minutes count the command and the processes it starts; other load on the machine lengthens only
the wall-clock time. A command that runs again adds to its CLOCK. CLOCK has two columns: seconds
since 1970 and CPU minutes. Models are files beside CLOCK whose names end in their updates, as
model.npz.u25.npz and model.iter25.npz. With --points, a model is deleted as soon as there is a
newer one and pick does not find it at any of the points. Needs /proc (Linux).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_minutes(session: int) -> float:
    """The CPU minutes of the processes of a session, and of their children that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()  # from the third on, see proc(5)
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS / 60


def points(clock: Path) -> list[tuple[float, float]]:
    """Time in seconds, and CPU minutes until then."""
    if not clock.exists():
        return []
    rows = re.findall(r"^([0-9.]+)\t([0-9.]+)\n", clock.read_text(), re.M)  # whole lines
    return [(float(now), float(minutes)) for now, minutes in rows]


def run(clock: Path, minutes: float, command: Sequence[str], kept: Sequence[float] = ()) -> int:
    """Run a command until it ends or its CPU minutes are used up; returns the exit code.

    If there are minutes in ``kept``, models that ``pick`` does not find at them are deleted.
    """
    before = max([used for _, used in points(clock)], default=0.0)
    if before >= minutes:
        return 0
    for one in (signal.SIGTERM, signal.SIGHUP):  # end the command too
        signal.signal(one, lambda number, _: sys.exit(128 + number))
    process = subprocess.Popen(command, start_new_session=True)
    ended, pruned = False, time.monotonic()
    try:
        with open(clock, "a", encoding="ascii") as file:
            while process.poll() is None:
                used = before + cpu_minutes(process.pid)
                print(f"{time.time():.1f}\t{used:.4f}", file=file, flush=True)
                if used >= minutes and not ended:
                    process.send_signal(signal.SIGTERM)  # both programs save and end
                    ended = True
                if kept and time.monotonic() > pruned + 60:
                    prune(clock, kept)
                    pruned = time.monotonic()
                time.sleep(0.5)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if kept:
        prune(clock, kept)
    return 0 if ended else process.returncode


def saved(clock: Path) -> list[tuple[float, Path]]:
    """The CPU minutes until each model beside the clock was saved, and the model; in order."""
    measured = points(clock)
    models = []
    for model in clock.parent.glob("*.[iu]*[0-9].npz"):
        when = model.stat().st_mtime
        models += [(used, model) for now, used in measured if now >= when][:1]
    return sorted(models)


def pick(models: Sequence[tuple[float, Path]], minutes: float) -> tuple[float, Path] | None:
    """The newest of the saved models within the minutes."""
    return max((one for one in models if one[0] <= minutes), default=None)


def prune(clock: Path, kept: Sequence[float]) -> None:
    """Delete the models that are not found at any of the minutes, and their other files."""
    models = saved(clock)
    found = [pick(models, minutes) for minutes in (*kept, float("inf"))]
    for one in models:
        if one not in found:
            for file in clock.parent.glob(f"{one[1].name}*"):
                file.unlink()


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    match arguments:
        case ["run", clock, minutes, "--points", kept, _, *_]:
            return run(Path(clock), float(minutes), arguments[5:], [float(p) for p in kept.split()])
        case ["run", clock, minutes, _, *_]:
            return run(Path(clock), float(minutes), arguments[3:])
        case ["pick", clock, minutes]:
            if found := pick(saved(Path(clock)), float(minutes)):
                print(f"{found[1]}\t{found[0]:.2f}")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
