"""Output for people: messages and running counts on standard error, and tables."""

import contextlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from ..errors import write

Progress = bool | Callable[[int], object]  # whether to show the count, or a function of it
Item = TypeVar("Item")
CLEAR = "\r\x1b[K"  # clears the line of the terminal


def is_terminal() -> bool:
    """Whether standard error is a terminal."""
    with contextlib.suppress(AttributeError, ValueError):  # None, or closed
        return sys.stderr.isatty()
    return False


def tell(message: str, quiet: bool = False) -> None:
    """Write the line `cgru: MESSAGE`, unless quiet."""
    if not quiet:
        write(f"cgru: {message}\n")


def counted(number: int, noun: str) -> str:
    """The number with the noun: `1 line`, `2,000 lines`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def table(rows: Collection[Sequence[str]]) -> str:
    """Format rows as lines, with columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip(" ") for row in rows)
    return "".join(f"{line}\n" for line in lines)


class ProgressCounter:
    """Shows a count and a rate, only on a terminal unless always. what: the items' plural."""

    def __init__(self, what: str, quiet: bool, *, always: bool = False):
        self._what = what
        self._shown = always or (not quiet and is_terminal())
        self._count, self._start, self._last = 0, time.monotonic(), 0.0

    def add(self, count: int) -> None:
        self._count += count
        now = time.monotonic()
        if self._shown and now - self._last > 0.5:
            self._last = now
            rate = self._count / (now - self._start)
            write(f"\r{self._count} {self._what}, {rate:.1f} {self._what}/s ")

    def close(self) -> None:
        """End the line of the count."""
        if self._shown and self._last:
            write("\n")


@contextlib.contextmanager
def counting(what: str, progress: Progress) -> Iterator[Callable[[Iterable[Item]], Iterator[Item]]]:
    """A function that yields items and counts them; `progress` is shown or gets the count."""
    counter = ProgressCounter(what, quiet=True, always=progress is True)

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        for count, item in enumerate(items, 1):
            counter.add(1)
            if callable(progress):
                progress(count)
            yield item

    try:
        yield counted
    finally:
        counter.close()
