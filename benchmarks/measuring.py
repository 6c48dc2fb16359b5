"""Wall-clock and CPU seconds, and peak memory, of this and of other processes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import IO


def cpu_seconds() -> float:
    """User and system seconds of all threads of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@dataclass
class Run:
    """The seconds of a measurement, and the peak memory of a process in MiB."""

    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0


class Clock:
    """Adds up the time spent inside `with`, in a Run."""

    def __init__(self) -> None:
        self.run = Run()

    def __enter__(self) -> None:
        self._begun = time.perf_counter(), cpu_seconds()

    def __exit__(self, *_exception: object) -> None:
        self.run.wall += time.perf_counter() - self._begun[0]
        self.run.cpu += cpu_seconds() - self._begun[1]


# Runs a command and writes its resource usage. It runs in a small process, because the peak memory
# of a child starts at that of its parent, and this process may have loaded a model.
BETWEEN = """
import json, os, sys, time
begun = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
status, usage = os.wait4(child, 0)[1:]
wall = time.perf_counter() - begun
with open(sys.argv[1], "w") as file:
    json.dump([status, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024], file)
"""


def process(command: list[str], stdout=subprocess.DEVNULL, environment=None) -> Run:
    """Run a whole process, including start-up. Exits if it fails."""
    # Start-up would take longer if Python compiled the modules in every process.
    inherited = os.environ.copy()
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.NamedTemporaryFile("r") as result:
        subprocess.run(
            [sys.executable, "-ISc", BETWEEN, result.name, *command],
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            env=inherited | (environment or {}),
            check=True,
        )
        status, run = read_usage(result)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return run


def read_usage(result: IO[str]) -> tuple[int, Run]:
    """Exit status and resource usage of the process run by BETWEEN."""
    status, *figures = json.load(result)
    return status, Run(*figures)
