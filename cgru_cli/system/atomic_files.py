"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import contextvars
import filecmp
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import CgruError, writing

INCOMPLETE = ".incomplete"  # after a name: files that belong together are changing places


class _Change(NamedTuple):
    """What happens to a file: a temporary one takes its place, or (None) it is removed."""

    temporary: Path | None
    target: Path


# Waiting for the others, in the order in which they are to happen.
_pending: contextvars.ContextVar[list[_Change] | None] = contextvars.ContextVar(
    "pending", default=None
)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that takes the place of `path` when the block ends without an error.

    A reader, or a crash, sees the old file or the new one, never a part. Raises CgruError where
    the file cannot be written (no such folder, no permission, disk full).
    """
    # A symbolic link stays one: the file it points to is replaced.
    target = Path(os.path.realpath(path))
    temporary = _beside(target)
    with writing(path):
        try:
            # Not tempfile: that creates files only their owner may read, whatever the umask says.
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            put(temporary, target)
        except BaseException:
            _unlink(temporary)
            raise


def put(temporary: Path, target: Path) -> None:
    """Let a file that is whole take the place of another: now, or with `all_or_nothing`'s others.

    Raises OSError where it cannot.
    """
    pending = _pending.get()
    if pending is None:
        os.replace(temporary, target)
        _sync_folder(target.parent)
    else:
        pending.append(_Change(temporary, target))


def remove(path: Path) -> None:
    """Remove a file, if it is there: now, or with `all_or_nothing`'s others.

    Raises CgruError where it cannot be removed.
    """
    pending = _pending.get()
    if pending is None:
        with writing(path):
            path.unlink(missing_ok=True)
    elif path.exists():
        pending.append(_Change(None, path))


@contextlib.contextmanager
def all_or_nothing(whole: Path, *, keep_same: bool = False) -> Iterator[None]:
    """Files written or removed here inside change together, when the block ends well.

    After an error none has: what was there before is untouched, or put back, and temporary files
    are gone. whole: what the files make up together, and the one to name last: where it is not
    there, nobody reads the others. While several change beside an old one, each of which takes an
    instant, a mark lies there; a kill leaves it, and `check_whole` refuses the mixture. keep_same:
    a file that holds already what is written stays, with its time.
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
        for change in pending:  # what did not take its place
            if change.temporary is not None:
                _unlink(change.temporary)


def check_whole(whole: Path) -> None:
    """Raise CgruError where a kill left files of `all_or_nothing` of which some are changed."""
    mark = mark_of(whole)
    if os.path.lexists(mark):
        raise CgruError(
            f"{whole}: writing it was interrupted, and its files may not belong together; write "
            f"it again, or remove {mark} if they do"
        )


def mark_of(whole: Path) -> Path:
    """The file that is there while, or because, not all of the files are changed."""
    return whole.with_name(whole.name + INCOMPLETE)


def _change(pending: list[_Change], mark: Path) -> None:
    """Make the changes in turn; undo those that were made when one fails."""
    before: dict[Path, Path | None] = {}  # what each file was; None: there was none
    done: list[Path] = []
    marked = False
    try:
        for change in pending:
            with writing(change.target):
                before[change.target] = _kept(change.target)
        if _can_mix(pending):
            marked = not os.path.lexists(mark)  # an older one stays, if this fails too
            with writing(mark):
                with open(mark, "ab") as file:
                    os.fsync(file.fileno())
                _sync_folder(mark.parent)
        for change in pending:
            done.append(change.target)  # a signal may come right after the change
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


def _can_mix(pending: list[_Change]) -> bool:
    """Whether files would not belong together if only the first of these changes were made."""
    if not pending or not pending[-1].target.exists():
        return False
    return len(list(islice(filter(_differs, pending), 2))) == 2


def _differs(change: _Change) -> bool:
    """Whether the file is not yet what it will be."""
    with writing(change.target):
        return (
            change.temporary is None
            or not change.target.exists()
            or not filecmp.cmp(change.temporary, change.target, shallow=False)
        )


def _undone(done: list[Path], before: Mapping[Path, Path | None]) -> bool:
    """Put the files back that were changed; whether all are as they were."""
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
    """A second name of a file, or a copy where the file system has no such names."""
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
    """A new hidden name in the same folder, known by its ending to be of no worth after a kill."""
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the file system offers that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
