"""Stress tests that run for as long as you like: `make soak MINUTES=60`.

They pass a line of 50 MB through every command; read damaged files of every kind in processes with
limited memory and time; put the marks of random lines into random translations, and translate
random documents with protected parts, up to a million of each; and disturb trainings, which are
killed at random moments and at calls of their file layer, run out of disk space, or resume from
changed bytes. The script prints a table of what was tried and what failed, and how to repeat a
failure; the exit code is 1 if anything failed. `--kills 200` tests only trainings, until that many
were killed; `--documents 1000000` translates only documents, that many.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import functools
import gc
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

LINE = 50_000_000  # bytes of a long line
# The limit of memory for a command in MiB, a fifth more than measured: see docs/security.md.
LONG_LINES = {
    "translate": (["translate", "-m", "model.npz"], 950),
    "score": (["score", "-m", "model.npz", "-s", "long", "-t", "short"], 950),
    "prep --apply": (["prep", "--apply", "data"], 1000),
    "prep, learning": (["prep", "out", "-s", "long", "-t", "long2", "--jobs", "1"], 1150),
}
# A program that runs another and prints its exit code, memory and time. It is small itself, because
# the peak memory of a child starts at that of its parent.
MEASURED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(child.returncode, used.ru_maxrss >> 10, round(used.ru_utime + used.ru_stime))
"""
# The limits for a file: CPU seconds, which do not depend on other work on the machine, and
# wall-clock seconds, for processes that wait.
SECONDS, WAITING = 10, 300
# The limit of memory for a file in KiB, in addition to twice that of the undamaged file: the 64 MiB
# of arrays that docs/security.md allows, and memory that the interpreter has not used before.
FLOOR = 96 << 10
MEMORY = 4 << 30  # address space in bytes of a process that reads files, to protect the machine
NESTINGS = 5000  # lines with marks a turn
DOCUMENTS = 1000  # documents with protected parts a turn
BATCH = 400  # files per process


def read_files(kind: str, seed: int, count: int) -> None:
    """In a separate process: damage and read files; print a line of JSON for each failure.

    The last line has the KiB for the undamaged file, and the maximum for the others.
    """
    from damage import READERS, good, read_damaged

    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    most = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "good"
        write_files(good(kind), folder)
        READERS[kind].read(folder)  # which imports what it needs
        undamaged = memory_taken(functools.partial(READERS[kind].read, folder))
        for number in range(seed, seed + count):
            print(number, file=sys.stderr, flush=True)  # the last one ended it
            folder = Path(name) / str(number)
            folder.mkdir()
            used = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS + 1, -1))
            faulthandler.dump_traceback_later(WAITING, exit=True)
            try:
                chance = random.Random(number)
                taken = memory_taken(functools.partial(read_damaged, kind, folder, chance))
                most = max(most, taken)
                assert taken <= 2 * undamaged + FLOOR, f"{taken} KiB, undamaged {undamaged} KiB"
            except BaseException:
                where = traceback.format_exc().strip().splitlines()
                print(json.dumps([number, where[-1][:200], where[-3:-1]]), flush=True)
            faulthandler.cancel_dump_traceback_later()
            shutil.rmtree(folder)
    print(json.dumps([undamaged, most]), flush=True)


def memory_taken(work: Callable[[], object]) -> int:
    """The increase of this process' peak memory during some work, in KiB."""

    def resident(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak to the current memory
    before = resident("VmRSS:")
    work()
    return max(0, resident("VmHWM:") - before)


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files to a folder, creating it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


class Table:
    """The table of what was tried and what failed."""

    @property
    def kills(self) -> int:
        """The number of trainings that were killed."""
        return sum(count for name, count in self.tried.items() if "killed" in name)

    def __init__(self) -> None:
        self.tried: collections.Counter[str] = collections.Counter()
        self.failed: dict[str, list[str]] = collections.defaultdict(list)
        self.memory: dict[str, tuple[int, int]] = {}  # KiB for undamaged files, and for any others

    def add(self, outcomes: Iterable[tuple[str, str]]) -> None:
        """Add what was tried, and the problem, "" if there is none."""
        for name, wrong in outcomes:
            self.tried[name] += 1
            if wrong:
                self.failed[name].append(wrong)
                print(f"{name}: {wrong}", flush=True)

    def print(self) -> None:
        width = max(map(len, self.tried), default=10)
        print(f"{'':{width}}  {'tried':>8}  {'failed':>6}  {'MiB':>4}  {'undamaged':>9}")
        for name, count in self.tried.items():
            row = f"{name:{width}}  {count:8,}  {len(self.failed[name]):6}"
            if name in self.memory:
                undamaged, most = (kibibytes / 1024 for kibibytes in self.memory[name])
                row += f"  {most:4.0f}  {undamaged:9.0f}"
            print(row)
        for name, failures in self.failed.items():
            for failure in failures[:5]:
                print(f"\n{name}: {failure}")


def files(kind: str, seed: int, table: Table) -> None:
    """Read one batch of damaged files of a kind."""
    command = [sys.executable, __file__, "--files", kind, "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    numbers = [line for line in done.stderr.splitlines() if line.isdigit()]
    table.tried[kind] += len(numbers)
    for line in done.stdout.splitlines():
        match json.loads(line):
            case [number, error, where]:
                table.failed[kind].append(f"seed {number}: {error} at {' '.join(where)}")
            case [undamaged, most]:
                before = table.memory.get(kind, (0, 0))
                table.memory[kind] = max(undamaged, before[0]), max(most, before[1])
    if done.returncode:
        last = numbers[-1] if numbers else "?"
        table.failed[kind].append(f"seed {last}: the process ended by {done.returncode}")


def nestings(seed: int, table: Table) -> None:
    """Put the marks of random lines into random translations, and parse the results."""
    import numpy as np
    from random_markup import random_line, random_placed, shape

    kind, draw = "marks of a line", np.random.default_rng(seed)
    for _ in range(NESTINGS if table.tried[kind] < 1_000_000 else 0):
        line = random_line(draw)
        table.tried[kind] += 1
        try:
            output, _ = random_placed(draw, line)
            trees = [ElementTree.fromstring(f"<root>{text}</root>") for text in (line, output)]
            failed = "" if shape(trees[0]) == shape(trees[1]) else output
        except (ElementTree.ParseError, IndexError, KeyError, ValueError) as error:
            failed = repr(error)
        if failed:
            table.failed[kind].append(f"seed {seed}: {line!r}: {failed}")


def documents(first: int, count: int, table: Table) -> None:
    """Translate the random documents with the seeds from `first` on."""
    from random_documents import fault

    kind = "documents with protected parts"
    for seed in range(first, first + count):
        table.tried[kind] += 1
        if wrong := fault(random.Random(seed)):
            table.failed[kind].append(f"seed {seed}: {wrong}")
            print(f"{kind}: seed {seed}: {wrong}", flush=True)


def long_lines(place: Path, table: Table) -> None:
    """Pass a line of 50 MB through every command, within the documented memory."""
    from commands import write_model

    write_model(place)
    (place / "short").write_text("A B\n")
    for name, words in (("long", b"a b c f"), ("long2", b"A B C F")):
        (place / name).write_bytes(b" ".join([words] * (LINE // len(words)))[:LINE] + b"\n")
    for side in "ab":
        (place / side).write_text("".join(f"{side} {i}\n" for i in range(500)))
    learn = ["prep", "data", "-s", "a", "-t", "b", "--subword-vocabulary", "99", "--jobs", "1"]
    started = [sys.executable, "-m", "cgru_cli"]
    subprocess.run([*started, *learn], cwd=place, check=True, capture_output=True)
    for name, (arguments, most) in LONG_LINES.items():
        kind = f"a line of 50 MB, {name}"
        with open(place / "long") as line:
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, *started, *arguments], cwd=place, stdin=line,
                capture_output=True, text=True,
            )  # fmt: skip
        code, mebibytes, seconds = map(int, done.stdout.split())
        table.tried[kind] += 1
        print(f"{kind}: {mebibytes} MiB, {seconds} s", flush=True)
        if code not in (0, 1) or mebibytes > most or "Traceback" in done.stderr:
            said = done.stderr[-300:]
            table.failed[kind].append(f"exit {code}, {mebibytes} MiB of {most}: {said}")


def main() -> int:
    from damage import READERS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="how long it is to take")
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    parser.add_argument("--files", metavar="KIND", help="one batch of this kind, in this process")
    parser.add_argument(
        "--kills", type=int, default=0, help="only disturb trainings, up to N kills"
    )
    parser.add_argument("--documents", type=int, default=0, help="only translate N documents")
    parser.add_argument("--no-training", action="store_true", help="files alone")
    options = parser.parse_args()
    if options.files:
        read_files(options.files, options.seed, BATCH)
        return 0
    end = time.monotonic() + 60 * options.minutes
    table = Table()
    if options.documents:
        documents(options.seed, options.documents, table)
        table.print()
        return 1 if any(table.failed.values()) else 0
    document, last = options.seed, options.seed + 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        if not options.kills:
            long_lines(Path(tempfile.mkdtemp(dir=folder)), table)
        training = None
        if not options.no_training:
            from disturbed_training import DisturbedTraining

            training = DisturbedTraining(Path(folder) / "trainings")
        seeds = itertools.count(options.seed, BATCH)
        turns = ((seed, *turn) for seed in seeds for turn in enumerate(READERS))
        for seed, number, kind in turns:
            if time.monotonic() > end or 0 < options.kills <= table.kills:
                break
            if not options.kills:
                files(kind, seed, table)
                nestings(seed + number, table)
                documents(document, min(DOCUMENTS, last - document), table)
                document = min(document + DOCUMENTS, last)
            if training:
                table.add(training.disturb(number, seed + number))
    table.print()
    return 1 if any(table.failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
