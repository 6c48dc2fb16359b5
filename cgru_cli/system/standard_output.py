"""Write to standard output and standard error, even if closed or on a full disk."""

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from ..errors import CgruError, OutputClosed, writing


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """Write printed text at once inside the block.

    Printing raises CgruError if standard output is closed or full, OutputClosed if its reader is
    gone. At the end, drops text that standard error could not write; otherwise Python would change
    the exit code.
    """
    before = sys.stdout
    sys.stdout = io.TextIOWrapper(
        _Checked(before), encoding="utf-8", errors="replace", write_through=True
    )
    try:
        yield
    finally:
        sys.stdout = before
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, sys.stderr.fileno())
                os.close(null)


class _Checked(io.RawIOBase):
    """Writes without the text stream's buffer, because Python would write its content at exit."""

    def __init__(self, stream: TextIO | None):
        buffer = getattr(stream, "buffer", None)
        self._stream, self._raw = stream, getattr(buffer, "raw", buffer)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write all bytes; raises the errors of `checked`."""
        if self._stream is None:
            raise CgruError("standard output is closed")
        view = memoryview(data).cast("B")
        with writing("standard output"):
            try:
                if self._raw is None:  # as in a notebook
                    self._stream.write(bytes(view).decode())
                    return len(view)
                done = 0
                while done < len(view):
                    written = self._raw.write(view[done:])
                    if written is None:  # non-blocking, and full
                        select.select([], [self._raw], [])
                    done += written or 0
            except BrokenPipeError as error:
                raise OutputClosed("standard output") from error
        return len(view)
