"""How much of a filter's work is done, shown while it goes on."""

from __future__ import annotations

import contextlib
import sys
import time


def tell(message: str, quiet: bool) -> None:
    """Write `cgru: MESSAGE` to standard error, what came of a job in one line; not if quiet."""
    if not quiet and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"cgru: {message}\n")
            sys.stderr.flush()


class Counter:
    """A count and a rate on standard error, at a terminal only."""

    def __init__(self, what: str, quiet: bool):
        """what: is counted, in the plural."""
        self._what = what
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._count, self._start, self._last = 0, time.monotonic(), 0.0

    def add(self, count: int) -> None:
        """So many more are done."""
        self._count += count
        now = time.monotonic()
        if self._shown and now - self._last > 0.5:
            self._last = now
            rate = self._count / (now - self._start)
            sys.stderr.write(f"\r{self._count} {self._what}, {rate:.1f} {self._what}/s ")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave what was shown last on a line of its own."""
        if self._shown and self._last:
            sys.stderr.write("\n")
