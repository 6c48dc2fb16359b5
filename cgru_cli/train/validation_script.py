"""A translation score from a program of the user's own."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence

from ..errors import CgruError, UsageError

POLL = 0.2  # seconds between two looks at whether to go on, while the script runs

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")

Check = Callable[[], None]  # may raise, to interrupt


def command_of(script: str | None) -> list[str]:
    """The words of a script's command line.

    Raises UsageError where there is none, CgruError where it is no program that can be run.
    """
    try:
        words = shlex.split(script or "")
    except ValueError as error:
        raise UsageError(f"--valid-script-path {script}: {error}") from error
    if not words:
        raise UsageError("the metric translation needs --valid-script-path")
    if shutil.which(words[0]) is None:
        reason = "is not executable" if os.path.exists(words[0]) else "no such program"
        raise CgruError(f"{words[0]}: {reason}; name another --valid-script-path")
    return words


def score_of(command: Sequence[str], path: str, check: Check) -> float:
    """The last number that a command, called with one more argument, prints on standard output.

    No shell is involved. `check` is called while it runs; what it raises ends the command. Raises
    CgruError where the command cannot be run, fails or prints no number.
    """
    name = command[0]
    try:
        code, out, err = _call([*command, path], check)
    except OSError as error:
        raise CgruError(f"{name}: cannot be run: {error.strerror or error}") from error
    if code:
        ending = f"exit code {code}" if code > 0 else f"signal {-code}"
        lines = [line.strip() for line in err.splitlines() if line.strip()]
        reason = f": {lines[-1][:500]}" if lines else ""
        raise CgruError(f"{name}: failed with {ending}{reason}")
    numbers = _NUMBER.findall(out)
    if not numbers:
        raise CgruError(f"{name}: printed no number; the last one is taken as its score")
    return float(numbers[-1])


def _call(command: Sequence[str], check: Check) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    # a group of its own: Ctrl-C is answered here, and ends all that the command has started
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    ) as process:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=POLL)
                    return process.returncode, out, err
                check()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
