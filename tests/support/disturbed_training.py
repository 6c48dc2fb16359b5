"""A small training that is disturbed and must end as if it were not."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import prepared as server
from runs import EVERYTHING, PLAIN, comparable, prepared

from cgru_cli.errors import CgruError
from cgru_cli.formats import model_vocabularies
from cgru_cli.formats.read_model import read

KILLS = 10  # per training, which then runs to its end
WAITING = 900  # wall-clock seconds, for two CPU seconds on a busy machine
Outcome = tuple[str, str]  # what was tried, and the problem, "" if there is none


class DisturbedTraining:
    """A training run in a folder, its undisturbed result, and ways to disturb copies of it.

    Its processes are forked from one that has imported TensorFlow, so each takes about two seconds.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.data = prepared(folder / "data")
        report = folder / "report"
        done = self._run("whole", fault={"report": str(report)})
        if done.returncode:
            raise SystemExit(f"the undisturbed training fails: {done.stderr}")
        self.expected = comparable(folder / "whole")
        spent = json.loads(report.read_text())
        self.calls, self.seconds = spent["calls"], spent["seconds"]
        self._run("half", "--after", "8u")

    def disturb(self, number: int, seed: int) -> Iterator[Outcome]:
        """Disturb it in the `number`-th way; every other way is a kill."""
        ways = (self.killed, self.failing, self.killed, self.changed_byte)
        yield from ways[number % len(ways)](seed)

    def killed(self, seed: int) -> Iterator[Outcome]:
        """Kill it at random moments and at calls of its file layer; the result must be the same.

        After each kill, the saved model must be complete or refused.
        """
        chance = random.Random(seed)
        name = f"kill{seed}"
        for kill in range(KILLS):
            if chance.random() < 0.5:
                what = "training, killed at any moment"
                fault: dict[str, float] = {"seconds": chance.uniform(0, self.seconds)}
            else:
                what = "training, killed at a call of its file layer"
                fault = {"number": chance.randint(1, self.calls)}
            done = self._run(name, fault=fault)
            if done.returncode > 0:
                yield what, f"seed {seed}, kill {kill}, {fault}: {done.stderr[-300:]}"
            if done.returncode >= 0:
                break
            yield what, self._model_is_wrong(name, f"seed {seed}, kill {kill}, {fault}")
        yield self._ends(name, "training, gone on with to its end after kills", seed)

    def failing(self, seed: int) -> Iterator[Outcome]:
        """Let a call of its file layer fail: a one-line error, and the run can be resumed."""
        chance = random.Random(seed)
        name = f"fail{seed}"
        kind = chance.choice([errno.ENOSPC, errno.EIO, "short"])
        fault = {"number": chance.randint(1, self.calls), "kind": kind}
        done = self._run(name, fault=fault)
        said = f"seed {seed}, {fault}"
        wrong = self._model_is_wrong(name, said)
        last = done.stderr.strip().splitlines()[-1:] or [""]
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            wrong = f"{said}: exit {done.returncode}: {done.stderr[-300:]}"
        elif done.returncode and not last[0].startswith("cgru: "):
            wrong = f"{said}: no message: {done.stderr[-300:]}"
        yield "training, a call of its file layer fails", wrong
        yield self._ends(name, "training, gone on with to its end after such a failure", seed)

    def changed_byte(self, seed: int) -> Iterator[Outcome]:
        """Flip a bit of a file in its folder: resuming is refused, or the result is the same."""
        chance = random.Random(seed)
        place = self.folder / f"byte{seed}"
        shutil.copytree(self.folder / "half", place)
        present = [path for path in sorted(place.rglob("*")) if path.is_file()]
        path = chance.choice([path for path in present if path.stat().st_size])
        data = bytearray(path.read_bytes())
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        data[at] ^= 1 << bit
        path.write_bytes(data)
        done = self._run(place.name)
        refused = done.returncode == 1 and done.stderr.strip().splitlines()[-1].startswith("cgru: ")
        same = done.returncode == 0 and self._goes_on_the_same(place)
        wrong = ""
        if not (refused or same) or "Traceback" in done.stderr:
            changed = f"seed {seed}: {path.relative_to(place)} byte {at} bit {bit}"
            wrong = f"{changed}: exit {done.returncode}: {done.stderr[-300:]}"
        yield "training, a bit of its folder changed", wrong
        shutil.rmtree(place)

    def _run(self, name: str, *more: str, fault: dict | None = None) -> subprocess.CompletedProcess:
        model = self.folder / name / "m.npz"
        command = server.command(
            "train", self.data, *PLAIN, *EVERYTHING, "--jit", "off", "--cpu-threads", "1",
            "-m", model, *more,
        )  # fmt: skip
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        if fault:
            environment["CGRU_TEST_FAULT"] = json.dumps(fault)
        try:
            return subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=WAITING
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"not over after {WAITING} s")

    def _model_is_wrong(self, name: str, disturbed: str) -> str:
        path = self.folder / name / "m.npz"
        if path.exists():
            try:
                model_vocabularies.find(read(path))
            except CgruError as error:
                if "writing it was interrupted" not in str(error):
                    return f"{disturbed}: {error}"
        return ""

    def _difference(self, place: Path) -> str:
        """The difference from the undisturbed training, "" if there is none."""
        try:
            left = comparable(place)
        except (OSError, KeyError, ValueError) as error:
            return str(error)
        said = []
        for expected, found in zip(self.expected, left, strict=True):
            if isinstance(expected, list):
                expected, found = dict(enumerate(expected)), dict(enumerate(found))
            names = expected.keys() | found.keys()
            said += [str(name) for name in names if expected.get(name) != found.get(name)]
        return " ".join(sorted(said))

    def _goes_on_the_same(self, place: Path) -> bool:
        """Compare only model and state, which do not depend on a changed record or best model."""
        models, *state = comparable(place)[:3]
        expected, *expected_state = self.expected[:3]
        return (models["m.npz"], state) == (expected["m.npz"], expected_state)

    def _ends(self, name: str, what: str, seed: int) -> Outcome:
        """Run it to its end, and compare the result."""
        done, place, wrong = self._run(name), self.folder / name, ""
        if done.returncode:
            wrong = f"seed {seed}: exit {done.returncode}: {done.stderr[-300:]}"
        elif difference := self._difference(place):
            wrong = f"seed {seed}: it ended otherwise: {difference}"
        elif left := [path.name for path in place.rglob("*.tmp")]:
            wrong = f"seed {seed}: left {left}"
        shutil.rmtree(place, ignore_errors=True)
        return what, wrong
