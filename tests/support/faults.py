"""A file layer that fails, or kills the process, at its N-th call."""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """Stands for a killed process: nothing more is done."""


REAL = {name: getattr(os, name) for name in dir(os)}
OPEN = open
KINDS: list[int | str] = [errno.ENOSPC, errno.EIO, "short", "kill"]


class Faults:
    """Replaces `os` and `open` in the file layer, and fails at the N-th call.

    kind: an errno; "short": a partial write; "kill": call `kill`, and make neither this call nor
    any later one. sync: whether to sync data to disk, which is slow.
    """

    CALLS = ("fsync", "replace", "link", "unlink", "open", "close")

    def __init__(
        self,
        number: int,
        kind: int | str,
        kill: Callable[[], object] = lambda: None,
        sync: bool = False,
    ):
        self.number, self.kind, self.count = number, kind, 0
        self.failed, self.dead = "", False
        self._kill, self._sync = kill, sync

    def __getattr__(self, name: str) -> Any:
        real = REAL[name]
        if name not in self.CALLS:
            return real

        def call(*arguments, **more):
            self.happen(name)
            return None if name == "fsync" and not self._sync else real(*arguments, **more)

        return call

    def happen(self, name: str = "write") -> bool:
        """Count a call and raise if it is its turn; returns True for a partial write."""
        if self.dead:
            raise Killed
        self.count += 1
        if self.count != self.number:
            return False
        self.failed = name
        if self.kind == "kill":
            self.dead = True
            self._kill()
            raise Killed
        if self.kind == "short":
            return True
        raise OSError(self.kind, os.strerror(int(self.kind)))

    def opened(
        self, path, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *more, **rare
    ):
        """Replaces the built-in `open`; files opened for reading are not affected."""
        if "r" in mode or isinstance(path, int):
            return OPEN(path, mode, buffering, encoding, errors, newline, *more, **rare)
        self.happen()
        file = _File(path, mode, self)
        if not buffering:
            return file
        whole = io.BufferedRandom if "+" in mode else io.BufferedWriter
        buffered = whole(file, buffer_size=512)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline)


class _File(io.FileIO):
    def __init__(self, path, mode, faults):
        super().__init__(path, mode.replace("b", "").replace("t", ""))
        self._faults = faults

    def write(self, data):
        short = self._faults.happen()
        return super().write(bytes(data)[: max(1, len(data) // 2)] if short else data)


def asked_for(variable: str = "CGRU_TEST_FAULT") -> Callable[[], None]:
    """Inject faults into this process, as specified by an environment variable.

    It holds JSON: `number` and `kind` as in `Faults`, with real kills; `seconds`, the CPU time
    after which the process is killed; `report`, a file for the number of calls and seconds. Returns
    a function that writes that file.
    """
    asked = json.loads(os.environ.get(variable, "{}"))
    if not asked:
        return lambda: None
    faults = Faults(
        asked.get("number", 0), asked.get("kind", "kill"),
        kill=lambda: os.kill(os.getpid(), signal.SIGKILL), sync=True,
    )  # fmt: skip
    for name in ("fsync", "replace", "link", "unlink"):
        setattr(os, name, getattr(faults, name))
    builtins.open = io.open = faults.opened  # type: ignore[assignment]
    start = time.process_time()
    if "seconds" in asked:  # SIGPROF is not handled, so it ends the process
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])

    def report() -> None:
        if "report" in asked:
            spent = {"calls": faults.count, "seconds": time.process_time() - start}
            with OPEN(asked["report"], "w") as file:
                json.dump(spent, file)

    return report
