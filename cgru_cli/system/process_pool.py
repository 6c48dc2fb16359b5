"""Run the same work on many chunks in several processes, with the results in order."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from ..errors import CgruError
from .signals import ENDING, StopRequest

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class ProcessPool(ProcessPoolExecutor):
    """Processes that start when there is work for more than one process, and end with the block."""

    def __init__(self, jobs: int):
        # Not fork, which copies locks that threads of this process may hold.
        with _signals_wait():
            super().__init__(jobs, multiprocessing.get_context("spawn"), initializer=_start)
        self._jobs = jobs

    def submit(
        self, work: Callable[..., Result], /, *arguments: Any, **options: Any
    ) -> Future[Result]:
        """Schedule work as its base class does; signals wait until a new process has its work."""
        with _signals_wait():
            return super().submit(work, *arguments, **options)

    def in_order(
        self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]
    ) -> Iterator[Result]:
        """The results of `work` on every chunk, in the order of the chunks.

        work: a picklable function, sent to a process with each chunk. Memory holds only a few
        chunks per process. This process itself handles a single chunk, or all chunks if there is
        only one job. Raises the work's exceptions.
        """
        chunks = iter(chunks)
        first = list(islice(chunks, 2))
        chunks = chain(first, chunks)
        if self._jobs == 1 or len(first) < 2:
            yield from map(work, chunks)
            return
        waiting: deque = deque()
        try:
            for chunk in chunks:
                waiting.append(self.submit(work, chunk))
                if len(waiting) > 2 * self._jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            reason = "a process of --jobs ended before finishing its work (out of memory?)"
            raise CgruError(f"{reason}; try fewer --jobs") from error
        finally:
            for future in waiting:
                future.cancel()


def alone(work: Callable[..., Result], *arguments: Any) -> Result:
    """The result of `work(*arguments)`, run in a separate process.

    Use it for work that blocks signals: this process handles them, and kills the other process.
    Raises the work's exceptions.
    """
    others = multiprocessing.active_children()
    pool = ProcessPool(1)
    try:
        return pool.submit(work, *arguments).result()
    except BrokenProcessPool as error:
        raise CgruError("a process ended before finishing its work (out of memory?)") from error
    finally:
        for process in multiprocessing.active_children():
            if process not in others:
                process.kill()
        pool.shutdown()


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Let the signals ENDING wait until the end of the block, and in new processes until _start."""
    with StopRequest() as stop:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if stop.asked:
        stop.end()


def _start() -> None:
    """Make a worker exit with its parent, even if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends Ctrl-C to all processes
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    with contextlib.suppress(OSError):
        if parent is not None:
            parent.join()
    os._exit(1)
