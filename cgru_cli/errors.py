"""What goes wrong, said in one line; the command line turns these into messages and exit codes."""

import contextlib
import sys


class CgruError(Exception):
    """Bad input: one clear line naming the file and what to do; exit code 1."""


class UsageError(CgruError):
    """A command that cannot be meant; exit code 2."""


def warn(message: str) -> None:
    """Write `cgru: warning: MESSAGE` to standard error, if there is one to write to."""
    if sys.stderr is not None:  # closed at the start, as with `2>&-`
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"cgru: warning: {message}\n")
            sys.stderr.flush()
