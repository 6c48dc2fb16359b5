"""Time whole training programs on identical batches.

The text is written batch by batch, and no program shuffles or sorts it, so the N-th update of each
uses the same sentence pairs. The time of an update is that between two log lines of a program; its
own words/s are reported too, if it logs them.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measuring import BETWEEN, read_usage

# the number of the update, and words/s, in a program's log line
LINES = {
    "cgru": r"Up\. ([\d,]+) .*?(?:([\d,.]+) words/s|$)",
    "marian": r"Up\. ([\d,]+) .*?(?:([\d,.]+) words/s|$)",
    "nematus": r"Update: (\d+) .*Words/sec: ([\d.]+)",
}
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Updates:
    """The updates of one program after the warm-up."""

    wall: list[float] = field(default_factory=list)  # seconds per update
    cpu: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)  # words/s from its log
    peak: float = 0.0  # MiB of the whole process


def write_batches(
    source: Path, target: Path, folder: Path, *, batch: int, count: int, longest: int
) -> list[tuple[int, int]]:
    """Write `count` batches of pairs of similar lengths, in mixed order: folder/ordered.src and
    .trg.

    Returns the words of each batch including EOS, (source, target). longest: the maximal number of
    words of a sentence. Raises SystemExit if the text is too short.
    """
    with source.open(encoding="utf-8") as first, target.open(encoding="utf-8") as second:
        pairs = [
            (a.split(), b.split())
            for a, b in zip(first, second, strict=True)
            if 0 < len(a.split()) <= longest and 0 < len(b.split()) <= longest
        ]
    if len(pairs) < batch * count:
        raise SystemExit(f"{source}: {batch * count} pairs of up to {longest} words are needed")
    every = len(pairs) // (batch * count)  # sample the whole text
    pairs = sorted(pairs[::every][: batch * count], key=lambda pair: (len(pair[1]), len(pair[0])))
    batches = [pairs[i : i + batch] for i in range(0, len(pairs), batch)]
    step = next(n for n in (17, 19, 23, 29) if count % n)  # mixes the lengths
    batches = [batches[i * step % count] for i in range(count)]
    for name, side in (("src", 0), ("trg", 1)):
        lines = [" ".join(pair[side]) for some in batches for pair in some]
        (folder / f"ordered.{name}").write_text("".join(f"{x}\n" for x in lines), "utf-8")
    return [
        (sum(len(a) + 1 for a, _ in some), sum(len(b) + 1 for _, b in some)) for some in batches
    ]


def follow(
    command: Sequence[str],
    line: str,
    updates: int,
    warm_up: int,
    threads: int,
    checkout: Path | None = None,
) -> Updates:
    """Run a program, and time its updates by its lines on stderr. Exits if it fails.

    checkout: the folder from which Python imports cgru; by default the installed one.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    if checkout:
        # before all others, even the working directory
        environment |= {"PYTHONPATH": str(checkout.resolve()), "PYTHONSAFEPATH": "1"}
    found, before = Updates(), (0.0, 0.0)
    with tempfile.NamedTemporaryFile("r") as usage, tempfile.TemporaryFile("w+") as other:
        child = subprocess.Popen(
            [sys.executable, "-ISc", BETWEEN, usage.name, *command],
            stdout=other,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            bufsize=1,
            env=environment,
        )
        assert child.stderr is not None
        said: list[str] = []
        for text in child.stderr:
            said = [*said[-20:], text]
            matched = re.search(line, text)
            if not matched:
                continue
            number, now = int(matched[1].replace(",", "")), (time.perf_counter(), cpu_of(child.pid))
            if warm_up < number <= warm_up + updates:
                found.wall.append(now[0] - before[0])
                found.cpu.append(now[1] - before[1])
                if matched[2]:
                    found.own.append(float(matched[2].replace(",", "")))
            before = now
        child.wait()
        status, run = read_usage(usage)
    if status or len(found.wall) < updates:
        raise SystemExit(f"failed: {' '.join(command)}\n{''.join(said)}")
    found.peak = run.peak
    return found


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and its descendants."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it has ended
        return 0.0
    user, system, of_ended_user, of_ended_system = map(int, fields[11:15])
    ended = of_ended_user + of_ended_system
    return (user + system + ended) / _TICKS + sum(map(cpu_of, children))


def speeds(seconds: Sequence[float], words: Sequence[tuple[int, int]]) -> list[float]:
    """Words of both sides per second, for each update."""
    return [sum(both) / wall for both, wall in zip(words, seconds, strict=True)]


def report(name: str, updates: Updates, words: Sequence[tuple[int, int]]) -> str:
    """A program's speed, and the speed in its own log."""
    target = sum(t for _, t in words) / sum(updates.wall)
    both = statistics.median(speeds(updates.wall, words))
    text = (
        f"{name}: {both:.0f} words/s (source and target, median of {len(words)} updates), "
        f"{target:.0f} target words/s in all; {statistics.median(updates.wall):.2f} s, "
        f"{statistics.median(updates.cpu):.2f} CPU s per update; peak {updates.peak:.0f} MiB"
    )
    if updates.own:
        text += f"; its log: {_mean_speed(updates.own, words):.0f} words/s"
    return text


def compare(name: str, theirs: Updates, ours: Updates) -> str:
    """The ratio of our words/s to theirs, batch by batch, and by CPU time."""
    wall, cpu = (
        statistics.median(b / a for a, b in zip(mine, others, strict=True))
        for mine, others in ((ours.wall, theirs.wall), (ours.cpu, theirs.cpu))
    )
    return f"{wall:.2f} x the words/s of {name}, {cpu:.2f} x by CPU"


def _mean_speed(own: Sequence[float], words: Sequence[tuple[int, int]]) -> float:
    """The words/s of all updates, from the target words/s of each."""
    return sum(t for _, t in words) / sum(
        t / speed for (_, t), speed in zip(words, own, strict=True)
    )
