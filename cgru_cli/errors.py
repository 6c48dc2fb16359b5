"""Errors of one line; the command line turns them into messages and exit codes."""

import contextlib
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

LONGEST = 2000  # characters of a message
# how warnings and notes are worded; the Python interface names arguments instead of flags
WORDING: ContextVar[Callable[[str], str]] = ContextVar("WORDING", default=str)
# False in the thread of a server, whose log must not quote the texts of its clients
WARNS: ContextVar[bool] = ContextVar("WARNS", default=True)
_TENSORFLOW_NODE = re.compile(r"\{\{(function_)?node [^{}]*\}\}\s*")


def one_line(text: str) -> str:
    """Make a text safe for a message: one line of printable characters, about LONGEST at most.

    Messages contain text from files. Line breaks, control codes of terminals and characters that
    change the direction of writing are escaped as in Python; the middle of a long message and
    TensorFlow's names of graph nodes are cut out.
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 500]} ... {text[-480:]}"
    if "{{" in text:
        text = _TENSORFLOW_NODE.sub("", text)
    if not text.isprintable():
        text = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
        )
        text = text if len(text) <= 4 * LONGEST else f"{text[: 4 * LONGEST]} ..."
    return text


class CgruError(Exception):
    """Bad input: one clear line naming the file and what to do; exit code 1."""

    def __init__(self, message: object = ""):
        super().__init__(one_line(str(message)))


class UsageError(CgruError):
    """An invalid command line; exit code 2, with --compat marian that of Marian's programs."""

    of_marian = 134  # it aborts


class PhraseError(CgruError):
    """Raised for constraints that no translation satisfies."""


class UnknownOption(UsageError):
    """An option or argument that does not exist."""

    of_marian = 109


class LacksValue(UsageError):
    """An option without the value that it needs."""

    of_marian = 114


class BadValue(UsageError):
    """A value that an option does not take."""

    of_marian = 104


class OutputClosed(Exception):
    """The reader of the output has closed it (`| head`): end quietly, exit code 0."""


class NotInstalled(CgruError):
    """A package that an extra of cgru brings is missing."""


class NotAModel(CgruError):
    """A file that is not a model, named as a model."""


def reason(error: BaseException) -> str:
    """The first line of an error of the system or a library; its type if it has no message."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1}: {error.reason}"
    said = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    lines = one_line(str(said).lstrip()[: 2 * LONGEST].partition("\n")[0]).strip()
    return lines[:300] or type(error).__name__


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise CgruError `PATH: REASON` if a file, gzipped or not, cannot be read in the block."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CgruError(
            f"{path}: not a complete gzip file ({reason(error)}); make it again"
        ) from error
    except OSError as error:
        raise CgruError(f"{path}: {reason(error)}") from error


@contextlib.contextmanager
def parsing(source: str | os.PathLike[str], otherwise: str) -> Iterator[None]:
    """Raise CgruError `SOURCE: OTHERWISE (REASON)` for any exception in the block.

    For third-party parsers on untrusted input: no list of their exceptions is complete. The reason
    is left out for errors that only a parser's author understands, such as TypeError.
    """
    try:
        yield
    except CgruError:
        raise
    except Exception as error:
        internal = isinstance(error, (TypeError, AttributeError, AssertionError, IndexError))
        why = "" if internal else f" ({reason(error)})"  # of the parser, not of the file
        raise CgruError(f"{source}: {otherwise}{why}") from error


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise CgruError `PATH: cannot be written: REASON` for the system's errors in the block."""
    try:
        yield
    except OSError as error:
        raise CgruError(f"{path}: cannot be written: {reason(error)}") from error


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Put `PLACE: ` before the message of a CgruError from the block."""
    try:
        yield
    except CgruError as error:
        raise type(error)(f"{place}: {error}") from None


def warn(message: str) -> None:
    """Write `cgru: warning: MESSAGE` to standard error, unless `WARNS` is False."""
    if WARNS.get():
        write(f"cgru: warning: {one_line(WORDING.get()(message))}\n")


def note(message: str) -> None:
    """Write `cgru: note: MESSAGE`, which is informational, to standard error."""
    write(f"cgru: note: {one_line(WORDING.get()(message))}\n")


def write(text: str) -> None:
    """Write to standard error, if it is open."""
    if sys.stderr is not None:  # closed at the start, as with `2>&-`
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
