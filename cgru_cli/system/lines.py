"""Read lines of text from pipes and files, for a command that may run for days.

Only b"\\n" ends a line, and only an ASCII space ends a token, so that line i of the output belongs
to line i of the input, whatever characters it contains. Reading uses file descriptors, not Python's
buffer of standard input.
"""

import functools
import gzip
import io
import os
import select
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Self

from ..errors import CgruError, UsageError, reading, warn
from .file_kinds import check_kind
from .number_rows import SUFFIX, count_rows, lines_of_rows
from .terminal import tell

LONGEST_LINE = 1 << 26  # bytes; a device without line breaks would fill the memory
CHUNK = 1 << 16  # bytes per read: the capacity of a pipe
LONG = 1 << 18  # number of characters from which a line's memory matters
GRACE = 0.01  # seconds that a window waits for more lines after its first line

Source = str | os.PathLike[str] | None  # a path; "-" or None is stdin or stdout


def tokens(line: str) -> list[str]:
    """The tokens of a line, between ASCII spaces (not tabs, \\r, U+00A0).

    Equal tokens of a long line share one object, which saves up to 95 % of the memory.
    """
    if len(line) <= LONG:
        return [token for token in line.split(" ") if token]
    known: dict[str, str] = {}
    words: list[str] = []
    start = 0
    while start < len(line):  # in parts, to bound the memory
        end = line.find(" ", start + LONG)
        end = len(line) if end < 0 else end
        words += [known.setdefault(token, token) for token in line[start:end].split(" ") if token]
        start = end
    return words


def path_of(source: Source) -> str | os.PathLike[str] | None:
    """The path of a file; None for standard input and output."""
    return None if source == "-" else source


def _name(source: Source) -> str:
    path = path_of(source)
    return "standard input" if path is None else os.fspath(path)


def status_of(source: Source, standard: int) -> os.stat_result | None:
    """The status of a path or of stdin (0) or stdout (1); None if missing or initially closed."""
    path = path_of(source)
    if path is None and (sys.__stdin__, sys.__stdout__)[standard] is None:
        return None
    try:
        return os.stat(standard if path is None else path)
    except OSError:
        return None


def _is_regular(source: Source) -> bool:
    status = status_of(source, 0)
    return status is not None and stat.S_ISREG(status.st_mode)


def standard_input() -> BinaryIO:
    """Standard input in bytes. Raises CgruError if it is closed."""
    if sys.stdin is None:
        raise CgruError("standard input is closed; name a file")
    return sys.stdin.buffer


def _check_readable(source: Source) -> None:
    """Raise CgruError for an input that cannot be opened later; does not block on a FIFO."""
    path = path_of(source)
    if path is None:
        if status_of(None, 0) is None:  # descriptor 0 may now belong to another file
            raise CgruError("standard input is closed; name a file")
        return
    with reading(path):
        status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise CgruError(f"{source}: is a directory; name a file")
    if not os.access(path, os.R_OK):
        raise CgruError(f"{source}: cannot be read: permission denied")
    if stat.S_ISREG(status.st_mode) and not status.st_size and str(source).endswith(".gz"):
        # Python's gzip would read it as an empty text.
        raise CgruError(f"{source}: empty, so not a gzip file; make it again")


class _Input:
    """One open input, read in chunks of bytes. Raises CgruError if it cannot be read."""

    def __init__(self, source: Source):
        self.name = _name(source)
        self._gzip = None
        self._rows: Iterator[bytes] | None = None
        path = path_of(source)
        self._owned = path is not None
        with reading(self.name):
            self._fd = 0 if path is None else os.open(path, os.O_RDONLY)
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        if self.name.endswith(".gz"):
            self._gzip = gzip.GzipFile(fileobj=io.FileIO(self._fd, closefd=False))
        elif self.name.endswith(SUFFIX):
            self._rows = lines_of_rows(self.name)

    def read(self, timeout: float | None) -> bytes | None:
        """Some bytes; b"" at the end; None if no bytes arrive within timeout seconds.

        Without timeout, waits as long as necessary (and may still return None; then call again).
        """
        with reading(self.name):
            try:
                if self._rows is not None:
                    return next(self._rows, b"")
                if self._gzip is not None:
                    # The bytes in a pipe may not suffice for one decompressed byte.
                    blocks = timeout is not None and not self._regular
                    return None if blocks else self._gzip.read1(CHUNK)
                if not self._regular and not select.select([self._fd], [], [], timeout)[0]:
                    return None
                return os.read(self._fd, CHUNK)
            except BlockingIOError:  # another process has read a non-blocking input
                return None

    def close(self) -> None:
        if self._owned:
            os.close(self._fd)


def byte_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a file, plain or `.gz`, with newlines; the last line may lack its newline.

    Raises CgruError if the file cannot be read.
    """
    with reading(path):
        packed = os.fspath(path).endswith(".gz")
        if packed and not os.path.getsize(path):  # Python's gzip would read an empty text
            raise EOFError("it is empty")
        with gzip.open(path) if packed else open(path, "rb") as file:
            yield from lines_of(file, path)


def lines_of(file: BinaryIO | gzip.GzipFile, name: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of an open text. Raises CgruError for a line longer than LONGEST_LINE."""
    for number, line in enumerate(iter(functools.partial(file.readline, LONGEST_LINE), b"")):
        if not number:
            check_text(line, name)
        check_length(line, name)
        yield line


def check_text(beginning: bytes, name: str | os.PathLike[str]) -> None:
    """Raise CgruError for the first bytes of a file that is not text, whose lines are noise."""
    check_kind(beginning, name, "html", what="text")


def check_length(line: bytes | bytearray, name: str | os.PathLike[str]) -> None:
    """Raise CgruError for (the beginning of) a line longer than LONGEST_LINE."""
    if len(line) >= LONGEST_LINE:
        raise CgruError(f"{name}: a line of {LONGEST_LINE:,} bytes or more; is it a text file?")


def count_lines(paths: Iterable[Source]) -> int | None:
    """The number of lines of these files, or None if a file cannot be read twice."""
    count = 0
    for path in paths:
        if path_of(path) is None or not _is_regular(path):
            return None
        if _name(path).endswith(SUFFIX):
            count += count_rows(_name(path))
        else:
            count += sum(1 for _ in byte_lines(_name(path)))
    return count


class LineReader:
    """Reads lines of one or several inputs in order: paths, "-" or None = stdin.

    Decompresses `.gz`; reads rows of a `.npy` as lines of numbers. The last line of each input may
    lack its newline. Invalid UTF-8 becomes U+FFFD; `invalid` counts the lines with invalid UTF-8. A
    "\\r" before the newline is a character of the line. Warns at the first line with invalid UTF-8
    and, if `tell_crlf`, at the first line with "\\r". Prints a message before reading from the
    keyboard. Raises CgruError at once if an input is missing, a directory or unreadable.
    """

    def __init__(self, *inputs: Source, tell_crlf: bool = True, reads: Callable[[str], str] = str):
        """reads: converts each line, which may end with "\\r"."""
        self.invalid = 0
        self._sources = list(inputs or (None,))
        self._input: _Input | None = None
        self._name = ""
        self._number = 0  # number of the last line in its input
        self._buffer = bytearray()
        self._searched = 0  # bytes at the start of the buffer that are known to have no newline
        self._deadline: float | None = None
        self._error: CgruError | None = None
        self._reads, self._tell_crlf = reads, tell_crlf and reads is str
        for source in self._sources:
            _check_readable(source)
        if None in map(path_of, self._sources) and os.isatty(0):
            tell("reading lines from the keyboard; press Ctrl-D to end")

    def window(self, limit: int) -> list[str]:
        """Wait for one line, then take all available lines; [] only at the end.

        A single line in a pipe waits for at most `GRACE` seconds. Raises CgruError if an input
        becomes unreadable, after returning its earlier lines.
        """
        lines: list[str] = []
        self._deadline = None
        while len(lines) < limit and (line := self._next(wait=not lines)) is not None:
            lines.append(line)
        return lines

    def take(self, count: int) -> list[str]:
        """Wait for this many lines; fewer only at the end."""
        lines: list[str] = []
        while len(lines) < count and (more := self.window(count - len(lines))):
            lines += more
        return lines

    def rest(self) -> list[str]:
        """All remaining lines."""
        return self.take(sys.maxsize)

    def _next(self, wait: bool) -> str | None:
        """The next line; None at the end or, without wait, if no line is available yet."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if not self._fill(wait):
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return self._decode(line)

    def _fill(self, wait: bool) -> bool:
        """Add bytes, or an input's missing last newline, to the buffer; False if none are ready."""
        if self._error is not None:
            raise self._error
        try:
            if self._input is None:
                # Opening a FIFO waits for its writer, so do not open it while there are lines to
                # return.
                if not self._sources or not (wait or _is_regular(self._sources[0])):
                    return False
                self._input = _Input(self._sources.pop(0))
                self._name, self._number = self._input.name, 0
            check_length(self._buffer, self._name)
            data = self._input.read(None if wait else self._patience())
            if data and not self._number and not self._buffer:
                check_text(data, self._name)
        except CgruError as error:
            self._error = error
            if wait:
                raise
            return False
        if data is None:
            return wait
        if not data:
            self._input.close()
            self._input = None
            if self._buffer:
                data = b"\n"
        self._buffer += data
        return True

    def _patience(self) -> float:
        """The remaining waiting time in seconds; it starts when a window first lacks lines."""
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + GRACE
        return max(0.0, self._deadline - now)

    def _decode(self, line: bytes) -> str:
        self._number += 1
        if self._tell_crlf and line.endswith(b"\r"):
            self._tell_crlf = False
            pipe = f"< {shlex.quote(self._name)} > NEW"
            if self._name == _name(None):
                pipe = "| cgru ..."
            warn(
                f"{self._name}: lines end with \\r\\n, as on Windows, where only \\n is expected; "
                f"convert the text first: tr -d '\\r' {pipe}"
            )
        try:
            return self._reads(line.decode("utf-8"))
        except UnicodeDecodeError:
            self.invalid += 1
            if self.invalid == 1:
                warn(f"{self._name}: line {self._number}: invalid UTF-8, replaced by U+FFFD")
            return self._reads(line.decode("utf-8", errors="replace"))

    def close(self) -> None:
        """Close the inputs, and warn if several lines had invalid UTF-8."""
        if self._input is not None:
            self._input.close()
            self._input = None
        self._sources.clear()
        if self.invalid > 1:
            warn(f"{self.invalid} lines had invalid UTF-8, replaced by U+FFFD")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def check_distinct(inputs: Iterable[Source], output: Source) -> None:
    """Raise UsageError if the output would overwrite an input; call it before the LineWriter."""
    written = status_of(output, 1)
    if written is None or not stat.S_ISREG(written.st_mode):
        return
    for source in inputs:
        read = status_of(source, 0)
        if read is not None and os.path.samestat(read, written):
            raise UsageError(f"{_name(source)}: is also the output; name another output file")
