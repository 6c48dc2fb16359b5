"""Write files completely or not at all."""

import contextlib
import contextvars
import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import CgruError, writing
from .line_writer import LineWriter, is_stream

INCOMPLETE = ".incomplete"  # suffix of the mark beside a group of files that is being replaced


class _Change(NamedTuple):
    """A file to replace by `temporary`, or to remove if that is None."""

    temporary: Path | None
    target: Path


# The changes of `all_or_nothing`, in order.
_pending: contextvars.ContextVar[list[_Change] | None] = contextvars.ContextVar(
    "pending", default=None
)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that replaces `path` when the block ends without an error.

    Readers see the old or the new file, never a partial file, even after a crash. A device, a pipe
    or an open file such as /dev/stdout is not replaced: the content is written to it at the end.
    Raises CgruError if the file cannot be written (no such folder, no permission, disk full).
    """
    if is_stream(path):
        # through a temporary file, because some formats need to seek
        with writing(path), LineWriter(path, packs=False) as out, tempfile.TemporaryFile() as whole:
            yield whole
            whole.seek(0)
            while block := whole.read(1 << 20):
                out.write_bytes(block)
        return
    # A symbolic link remains, and its target is replaced.
    target = Path(os.path.realpath(path))
    temporary = _beside(target)
    with writing(path):
        try:
            # Not tempfile, which ignores the umask and lets only the owner read its files.
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            put(temporary, target)
        except BaseException:
            _unlink(temporary)
            raise


def put(temporary: Path, target: Path) -> None:
    """Replace a file with a complete file: now, or together with others in `all_or_nothing`.

    A symbolic link remains, and its target is replaced. Raises OSError if that fails, CgruError if
    the target is not a regular file.
    """
    target = Path(os.path.realpath(target))
    if is_stream(target):
        raise CgruError(f"{target}: is not a regular file; move it away, or write elsewhere")
    if temporary.stat().st_dev != target.parent.stat().st_dev:  # the link leads to another disk
        temporary = Path(shutil.move(temporary, _beside(target)))
    pending = _pending.get()
    if pending is None:
        os.replace(temporary, target)
        _sync_folder(target.parent)
    else:
        pending.append(_Change(temporary, target))


def remove(path: Path) -> None:
    """Remove a file, if it exists: now, or together with others in `all_or_nothing`.

    Raises CgruError if that fails.
    """
    pending = _pending.get()
    if pending is None:
        with writing(path):
            path.unlink(missing_ok=True)
    elif path.exists():
        pending.append(_Change(None, path))


@contextlib.contextmanager
def all_or_nothing(whole: Path, *, keep_same: bool = False) -> Iterator[None]:
    """Change files together: all writes and removals apply when the block ends without an error.

    After an error, all files are as before, and temporary files are removed. whole: the main file,
    which must change last; the other files are not read without it. While several files are being
    replaced, a mark exists beside the main file. If the process is killed, the mark remains, and
    `check_whole` rejects the mixture of old and new files. keep_same: keep a file, with its
    modification time, if its content does not change.
    """
    pending: list[_Change] = []
    token = _pending.set(pending)
    try:
        yield
        _pending.reset(token)
        changes = [change for change in pending if not keep_same or _differs(change)]
        _change(changes, mark_of(whole))
    finally:
        if _pending.get() is pending:
            _pending.reset(token)
        for change in pending:  # remaining temporary files
            if change.temporary is not None:
                _unlink(change.temporary)


def check_whole(whole: Path) -> None:
    """Raise CgruError if the process was killed after some of the changes of `all_or_nothing`."""
    mark = mark_of(whole)
    if os.path.lexists(mark):
        raise CgruError(
            f"{whole}: writing it was interrupted, and its files may not belong together; write "
            f"it again, or remove {mark} if they do"
        )


def mark_of(whole: Path) -> Path:
    """The marker file that exists while files are being replaced.

    It stays if the process is killed.
    """
    return whole.with_name(whole.name + INCOMPLETE)


def _change(pending: list[_Change], mark: Path) -> None:
    """Make the changes in turn; if one fails, undo the earlier changes."""
    before: dict[Path, Path | None] = {}  # links to the old files; None: no file
    done: list[Path] = []
    marked = False
    try:
        for change in pending:
            with writing(change.target):
                before[change.target] = _kept(change.target)
        altered = islice(filter(_differs, pending), 2)
        if pending and pending[-1].target.exists() and len(list(altered)) == 2:
            # in case a kill leaves files that do not belong together
            marked = not os.path.lexists(mark)  # keep an older mark if this fails too
            with writing(mark):
                with open(mark, "ab") as file:
                    os.fsync(file.fileno())
                _sync_folder(mark.parent)
        for change in pending:
            done.append(change.target)  # first, because a signal may follow the change
            with writing(change.target):
                if change.temporary is None:
                    os.unlink(change.target)
                else:
                    os.replace(change.temporary, change.target)
    except BaseException:
        if _undone(done, before) and marked:
            _unlink(mark)
        raise
    finally:
        for old in before.values():
            if old is not None:
                _unlink(old)
    for folder in {change.target.parent for change in pending}:
        _sync_folder(folder)
    with writing(mark), contextlib.suppress(FileNotFoundError):
        os.unlink(mark)
        _sync_folder(mark.parent)


def _differs(change: _Change) -> bool:
    """Whether the change would alter the file."""
    with writing(change.target):
        return (
            change.temporary is None
            or not change.target.exists()
            or not filecmp.cmp(change.temporary, change.target, shallow=False)
        )


def _undone(done: list[Path], before: Mapping[Path, Path | None]) -> bool:
    """Restore the changed files; returns whether all files are as before."""
    undone = True
    for target in reversed(done):
        old = before[target]
        try:
            if old is None:
                target.unlink(missing_ok=True)
            else:
                os.replace(old, target)
        except OSError:
            undone = False
    return undone


def _kept(path: Path) -> Path | None:
    """A hard link to a file, or a copy if the file system has no hard links; None: no file."""
    if not os.path.lexists(path):
        return None
    second = _beside(path)
    try:
        os.link(path, second)
    except OSError:
        try:
            shutil.copy2(path, second)
        except BaseException:
            _unlink(second)
            raise
    return second


def _beside(path: Path) -> Path:
    """A new hidden name in the same folder, whose suffix identifies files of killed processes."""
    return path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}.tmp")


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _sync_folder(folder: Path) -> None:
    """Make new names durable, if the file system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
