"""Ending at once, but cleanly, when the user or the system says so."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, TypeVar

Result = TypeVar("Result")


class Stopped(SystemExit):
    """A signal asked the process to end: exit code 128 + signum, no traceback."""

    def __init__(self, signum: int):
        super().__init__(128 + signum)
        self.signum = signum


@contextlib.contextmanager
def stop_cleanly() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise Stopped in the main thread inside the block.

    So `finally` blocks run and files are closed (exit code 130 or 143). A second signal of the
    same kind ends the process without any of that, and so does the first while modules are being
    imported: other people's code is not made for an exception at any place of its beginning, and
    before it nothing of ours is half done. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)
        if _importing > 0 or _imports(frame):
            _end_here(signum)
        raise Stopped(signum)

    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        for signum, handler in before.items():
            if handler is not signal.SIG_IGN:  # as a shell sets it for jobs in the background
                signal.signal(signum, stop)
        yield
    finally:
        for signum, handler in before.items():
            # None: installed by C code, which Python cannot install again
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)


_importing = 0  # threads at work in `imports_elsewhere`


@contextlib.contextmanager
def imports_elsewhere() -> Iterator[None]:
    """Around the imports of another thread, in which the end of the process would wait."""
    global _importing
    _importing += 1
    try:
        yield
    finally:
        _importing -= 1


def interruptible(work: Callable[[], Result]) -> Result:
    """The result of `work`, run so that a signal need not wait for long steps of C code.

    Python hears of signals between its own steps, and in the main thread alone: the work is done in
    another, which ends with the process. The C code has to let other threads run, as NumPy's does.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _imports(frame: FrameType | None) -> bool:
    """Whether Python is importing a module where it was interrupted."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _end_here(signum: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(128 + signum)


Handler = Callable[[int, FrameType | None], Any] | int | None


class StopRequest:
    """Inside the block, the first SIGINT or SIGTERM is noted for the work to end where it can.

    A second signal of the same kind ends the process at once. Outside the main thread nothing
    changes.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        self._before: dict[int, Handler] = {}

    @property
    def asked(self) -> bool:
        """Whether a signal asked to stop."""
        return self.signum is not None

    def end(self) -> None:
        """End as the signal asks: raises Stopped."""
        raise Stopped(self.signum or signal.SIGTERM)

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for signum in (signal.SIGINT, signal.SIGTERM):
                before = signal.getsignal(signum)
                if before is not signal.SIG_IGN:  # as a shell sets it for jobs in the background
                    self._before[signum] = before
                    signal.signal(signum, self._note)
        return self

    def _note(self, signum: int, _frame: object) -> None:
        self.signum = signum
        signal.signal(signum, signal.SIG_DFL)

    def __exit__(self, *_exception: object) -> None:
        for signum, before in self._before.items():
            signal.signal(signum, signal.SIG_DFL if before is None else before)
