"""Write lines of text to pipes and files, for a command that may run for days."""

import contextlib
import os
import select
import zlib
from typing import Self

from ..errors import CgruError, OutputClosed, writing
from .lines import Source, path_of, status_of
from .terminal import counted, tell


class LineWriter:
    """Writes UTF-8 lines to stdout ("-" or None) or to a file, compressed if it is named `.gz`.

    Each `write` reaches the file, without buffering. The file has its final name from the start and
    contains only complete lines, so that others can read it while it grows, and a killed run leaves
    its finished lines. (A killed run's `.gz` lacks its end: zcat shows all lines, then an error.)
    Names of open files, such as /dev/stdout, stand for these files; their content so far stays.
    Raises CgruError if it cannot be written, OutputClosed if its reader is gone.
    """

    def __init__(
        self, output: Source = None, *, append: bool = False, packs: bool = True, reports: str = ""
    ):
        """append: write after the file's present content; packs: whether to compress `.gz`.

        reports: the command that says on standard error how many lines it wrote to a file.
        """
        self._reports, self._lines = reports, 0
        path = path_of(output)
        opened = 1 if path is None else _descriptor(path)
        self.name = "standard output" if path is None else os.fspath(path)
        self._owned = opened is None
        self._gzip = None
        if opened is not None:
            if opened == 1 and status_of(None, 1) is None:
                raise CgruError("standard output is closed; name an output file")
            self._fd = opened
            with writing(self.name):
                os.fstat(opened)
            return
        with writing(self.name):
            start = os.O_APPEND if append else os.O_TRUNC
            self._fd = os.open(self.name, os.O_WRONLY | os.O_CREAT | start, 0o666)
        if packs and self.name.endswith(".gz"):
            self._gzip = zlib.compressobj(wbits=31)  # 31: with a gzip header

    def write(self, text: str) -> None:
        """Write complete lines, each with its newline; lone surrogates become "?"."""
        self.write_bytes(text.encode("utf-8", errors="replace"))

    def write_bytes(self, data: bytes) -> None:
        """Write bytes unchanged, whether UTF-8 or not."""
        self._lines += data.count(b"\n")
        if data and self._gzip is not None:
            data = self._gzip.compress(data) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self._write(data)

    def _write(self, data: bytes) -> None:
        done = 0
        with writing(self.name):
            try:
                while done < len(data):
                    try:
                        done += os.write(self._fd, memoryview(data)[done:])
                    except BlockingIOError:
                        select.select([], [self._fd], [])
            except BrokenPipeError as error:
                if self._fd == 1:  # otherwise Python reports an error when flushing stdout at exit
                    null = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(null, 1)
                    os.close(null)
                raise OutputClosed(self.name) from error
            except OSError:
                if self._owned and self._gzip is None:
                    self._drop(done - (data.rfind(b"\n", 0, done) + 1))
                raise

    def _drop(self, size: int) -> None:
        """Remove the last bytes: the beginning of a line that did not fit on the disk."""
        with contextlib.suppress(OSError):  # not a regular file
            os.ftruncate(self._fd, os.lseek(self._fd, 0, os.SEEK_CUR) - size)

    def close(self, failed: bool = False) -> None:
        """Finish the file; failed: raise nothing, because another error will be reported."""
        if not self._owned:
            return
        self._owned = False
        try:
            try:
                if self._gzip is not None:
                    self._write(self._gzip.flush())
            finally:
                with writing(self.name):  # NFS reports a full quota only here
                    os.close(self._fd)
        except (CgruError, OutputClosed):
            if not failed:
                raise
        tell(
            f"{self._reports}: wrote {counted(self._lines, 'line')} to {self.name}",
            quiet=not self._reports or failed,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        self.close(failed=kind is not None)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe, a folder or an open file, which no file may replace."""
    return _descriptor(path) is not None or (os.path.exists(path) and not os.path.isfile(path))


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that a path (/dev/stdout, /dev/fd/3, a link) names, if any."""
    folder, name = os.path.split(path)
    folder = os.path.realpath(folder)
    if folder == os.path.realpath("/dev/fd") and name.isdecimal():
        return int(name)
    is_link = os.path.islink(path) and os.path.exists(path)  # not a loop of links
    return _descriptor(os.path.join(folder, os.readlink(path))) if is_link else None
