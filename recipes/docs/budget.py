#!/usr/bin/env python3
"""Run a training for a number of CPU minutes, and find the model it had saved by a given minute.

    budget.py run CLOCK MINUTES COMMAND...         run, and write the CPU minutes into CLOCK
    budget.py pick CLOCK MINUTES MODEL...          the newest model at MINUTES, and its own minutes

CPU minutes count the command and the processes it starts; other load on the machine lengthens only
the wall-clock time. A command that runs again adds to its CLOCK. CLOCK has
two columns: seconds since 1970 and CPU minutes. Needs /proc (Linux).
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


def run(clock: Path, minutes: float, command: Sequence[str]) -> int:
    """Run a command until it ends or its CPU minutes are used up; returns the exit code."""
    before = max([used for _, used in points(clock)], default=0.0)
    if before >= minutes:
        return 0
    for one in (signal.SIGTERM, signal.SIGHUP):  # end the command too
        signal.signal(one, lambda number, _: sys.exit(128 + number))
    process = subprocess.Popen(command, start_new_session=True)
    ended = False
    try:
        with open(clock, "a", encoding="ascii") as file:
            while process.poll() is None:
                used = before + cpu_minutes(process.pid)
                print(f"{time.time():.1f}\t{used:.4f}", file=file, flush=True)
                if used >= minutes and not ended:
                    process.send_signal(signal.SIGTERM)  # both programs save and end
                    ended = True
                time.sleep(0.5)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return 0 if ended else process.returncode


def pick(clock: Path, minutes: float, models: Sequence[Path]) -> tuple[Path, float] | None:
    """The newest model saved within the minutes, and the CPU minutes until it was saved."""
    measured = points(clock)
    saved = []
    for model in models:
        when = model.stat().st_mtime
        used = min((used for now, used in measured if now >= when), default=None)
        if used is not None and used <= minutes:
            saved.append((used, model))
    return max(saved)[::-1] if saved else None


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    if len(arguments) < 4 or arguments[0] not in ("run", "pick"):
        print(__doc__, file=sys.stderr)
        return 2
    clock, minutes = Path(arguments[1]), float(arguments[2])
    if arguments[0] == "run":
        return run(clock, minutes, arguments[3:])
    found = pick(clock, minutes, [Path(model) for model in arguments[3:]])
    if found:
        print(f"{found[0]}\t{found[1]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
