"""End the process cleanly at signals that ask it to end."""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import NoReturn, Self, TypeVar

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, `kill`, a closed terminal

Result = TypeVar("Result")


class Stopped(SystemExit):
    """Raised when a signal asks the process to end: exit code 128 + signum, no traceback."""

    def __init__(self, signum: int):
        super().__init__(128 + signum)
        self.signum = signum


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a handler for the signals ENDING inside the block, if in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in ENDING}
    try:
        for signum, old in before.items():
            if old is not signal.SIG_IGN:  # which `nohup`, and shells for background jobs, set
                signal.signal(signum, handler)
        yield
    finally:
        for signum, old in before.items():
            # None: installed by C code; Python cannot install it again
            signal.signal(signum, signal.SIG_DFL if old is None else old)


def exit_at_once(code: int) -> NoReturn:
    """End the process after flushing its output, without Python's own clean-up.

    That clean-up frees what threads of libraries may still be using after a signal.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


@contextlib.contextmanager
def stop_cleanly() -> Iterator[None]:
    """Let the signals ENDING raise Stopped in the main thread inside the block.

    `finally` blocks then run, and files are closed (exit code 130, 143 or 129). A second signal of
    the same kind ends the process at once. So does a signal during imports, when no work has begun
    and an exception could interrupt third-party code anywhere. An error that ends the block after
    the signal counts as Stopped, because TensorFlow replaces exceptions inside some of its calls by
    its own TypeError. Has no effect outside the main thread.
    """
    received: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)
        received.append(signum)
        frames = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(frame))
        if any(name.startswith("<frozen importlib") for name in frames):
            exit_at_once(128 + signum)
        raise Stopped(signum)

    with _handled_by(stop):
        try:
            yield
        except Exception:
            if received:
                raise Stopped(received[0]) from None
            raise


def interruptible(work: Callable[[], Result]) -> Result:
    """The result of `work`, run so that signals do not wait for long-running C code.

    Python handles signals in the main thread, between steps of Python code, so a daemon thread does
    the work. The C code must release Python's lock, as NumPy does.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result()


class StopRequest(contextlib.ExitStack):
    """Records a signal of ENDING inside the block, so that work can end at a suitable place.

    A second signal of the same kind ends the process at once. Has no effect outside the main
    thread.
    """

    signum: int | None = None

    @property
    def asked(self) -> bool:
        """Whether a signal asked to stop."""
        return self.signum is not None

    def end(self) -> None:
        """Raise Stopped for the recorded signal."""
        raise Stopped(self.signum or signal.SIGTERM)

    def __enter__(self) -> Self:
        self.enter_context(_handled_by(self._note))
        return super().__enter__()

    def _note(self, signum: int, _frame: object) -> None:
        self.signum = signum
        signal.signal(signum, signal.SIG_DFL)
