"""Scores that a user's program gives to translations or to a model."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence

from ..errors import CgruError
from ..options.kinds import command
from .printed_score import score_in

POLL = 0.2  # seconds between two checks for a stop, while the script runs

Check = Callable[[], None]  # may raise, to interrupt


def command_of(script: str, flag: str = "--valid-script-path") -> list[str]:
    """The words of a script's command line; flag: the option that names the script.

    Raises CgruError if it does not name an executable program.
    """
    words = command(script)
    if shutil.which(words[0]) is None:
        if os.path.isfile(words[0]) and os.access(words[0], os.X_OK):
            raise CgruError(f"{words[0]}: is not on the PATH; write {flag} ./{words[0]}")
        reason = "is not executable" if os.path.exists(words[0]) else "no such program"
        raise CgruError(f"{words[0]}: {reason} ({flag})")
    return words


def score_of(command: Sequence[str], check: Check, first: bool = False) -> float:
    """The score that a command prints; first: whether it may be at the beginning.

    Raises CgruError as `output_of` and `score_in`.
    """
    return score_in(output_of(command, check), command[0], first)


def lines_of(command: Sequence[str], check: Check) -> list[str]:
    """The lines that a command prints, or its error if it fails; calls `check` meanwhile."""
    try:
        output = output_of(command, check)
    except CgruError as error:
        output = str(error)
    return [line.rstrip() for line in output.split("\n") if line.strip()]


def output_of(command: Sequence[str], check: Check) -> str:
    """Run a command without a shell, and return its standard output.

    Calls `check` while the command runs; an exception from it ends the command. Raises CgruError if
    the command cannot be run or fails.
    """
    name = command[0]
    try:
        # in its own process group, because this process handles Ctrl-C and kills the whole group
        process = subprocess.Popen(  # noqa: S603 - the user's command, without a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise CgruError(f"{name}: cannot be run: {error.strerror or error}") from error
    with process:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=POLL)
                    break
                check()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if code := process.returncode:
        ending = f"exit code {code}" if code > 0 else f"signal {-code}"
        lines = [line.strip() for line in err.splitlines() if line.strip()]
        reason = f": {lines[-1][:500]}" if lines else ""
        raise CgruError(f"{name}: failed with {ending}{reason}")
    return out
