"""A log file: a copy of standard error, with the time of each line."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

from ..errors import CgruError, OutputClosed, reason
from .line_writer import LineWriter


class _Both:
    """Copies complete lines of standard error to a file, except lines that a terminal redraws."""

    def __init__(self, stream: TextIO | None, file: LineWriter):
        self._stream, self._file, self._begun = stream, file, ""

    def write(self, text: str) -> int:
        if self._stream is not None:
            self._stream.write(text)
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if line and not line.startswith("\r"):
                with contextlib.suppress(CgruError, OutputClosed):  # the last line will report it
                    self.log(line)
        return len(text)

    def log(self, line: str) -> None:
        """Write a line only to the file."""
        self._file.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {line}\n")

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def log_to(path: str | None, begins: str) -> Iterator[None]:
    """Copy standard error to a file inside the block, after `begins` as the first line.

    path: None for no file. The last line is Marian's `Total time: 1.23456s wall`, after the error
    that ended the block, if any. Raises CgruError if the file cannot be written.
    """
    if path is None:
        yield
        return
    start, stream = time.monotonic(), sys.stderr
    with LineWriter(path, packs=False) as file:
        both = _Both(stream, file)
        sys.stderr = both
        try:
            both.log(begins)
            yield
        except Exception as error:
            both.log(f"Error: {reason(error)}")
            raise
        finally:
            sys.stderr = stream
            both.log(f"Total time: {time.monotonic() - start:.5f}s wall")
