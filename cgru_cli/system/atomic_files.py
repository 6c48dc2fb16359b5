"""Files written whole or not at all."""

import contextlib
import contextvars
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import CgruError

# Written and waiting for the others: (temporary file, its place).
_pending: contextvars.ContextVar[list[tuple[Path, Path]] | None] = contextvars.ContextVar(
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
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # Not tempfile: that creates files only their owner may read, whatever the umask says.
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if _pending.get() is None:
            os.replace(temporary, target)
        else:
            _pending.get().append((temporary, target))
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise CgruError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise
    _sync_folder(target.parent)


@contextlib.contextmanager
def all_or_nothing() -> Iterator[None]:
    """Files written by `atomic_write` inside take their places together, when the block ends well.

    After an error none has: what was there before is untouched, temporary files are gone.
    """
    pending: list[tuple[Path, Path]] = []
    token = _pending.set(pending)
    try:
        yield
        while pending:
            temporary, target = pending[0]
            os.replace(temporary, target)
            pending.pop(0)
            _sync_folder(target.parent)
    except OSError as error:
        raise CgruError(f"cannot be written: {error.strerror or error}") from error
    finally:
        _pending.reset(token)
        for temporary, _ in pending:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the file system offers that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
