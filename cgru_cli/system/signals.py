"""Ending at once, but cleanly, when the user or the system says so."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Stopped(SystemExit):
    """A signal asked the process to end: exit code 128 + signum, no traceback."""

    def __init__(self, signum: int):
        super().__init__(128 + signum)
        self.signum = signum


@contextlib.contextmanager
def stop_cleanly() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise Stopped in the main thread inside the block.

    So `finally` blocks run and files are closed (exit code 130 or 143). A second signal of the
    same kind ends the process without any of that. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, _frame: object) -> None:
        signal.signal(signum, signal.SIG_DFL)
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


class StopRequest:
    """Inside the block, the first SIGINT or SIGTERM is noted for the work to end where it can.

    A second signal of the same kind ends the process at once. Outside the main thread nothing
    changes.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        self._before: dict[int, object] = {}

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
