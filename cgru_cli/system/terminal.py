"""Output to standard error: messages, running counts, and a line that is redrawn."""

from __future__ import annotations

import contextlib
import sys
import time

CLEAR = "\r\x1b[K"  # begins a line of the terminal anew


def write(text: str) -> None:
    """Write to standard error, and go on without it where nobody listens."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def is_terminal() -> bool:
    """Whether somebody may be watching standard error."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def tell(message: str, quiet: bool = False) -> None:
    """Write `cgru: MESSAGE`, the outcome of a job in one line; not if quiet."""
    if not quiet:
        write(f"cgru: {message}\n")


class ProgressCounter:
    """A count and a rate, at a terminal only."""

    def __init__(self, what: str, quiet: bool):
        """what: is counted, in the plural."""
        self._what = what
        self._shown = not quiet and is_terminal()
        self._count, self._start, self._last = 0, time.monotonic(), 0.0

    def add(self, count: int) -> None:
        """So many more are done."""
        self._count += count
        now = time.monotonic()
        if self._shown and now - self._last > 0.5:
            self._last = now
            rate = self._count / (now - self._start)
            write(f"\r{self._count} {self._what}, {rate:.1f} {self._what}/s ")

    def close(self) -> None:
        """Leave what was shown last on a line of its own."""
        if self._shown and self._last:
            write("\n")
