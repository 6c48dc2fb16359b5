"""The same work on many chunks, by several processes, with the results in order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

from ..errors import CgruError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class ProcessPool:
    """Processes that start when there is work for more than one, and end with the block."""

    def __init__(self, jobs: int):
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def in_order(
        self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]
    ) -> Iterator[Result]:
        """The results of `work` on every chunk, in the order of the chunks.

        work: a function that can be pickled, sent to a process with each chunk. Only a few chunks
        per process are in memory. This process itself works on a single chunk, and if there is one
        job. Raises what the work raises.
        """
        chunks = iter(chunks)
        first = list(islice(chunks, 2))
        chunks = chain(first, chunks)
        if self._jobs == 1 or len(first) < 2:
            yield from map(work, chunks)
            return
        pool = self._started()
        waiting: deque = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(work, chunk))
                if len(waiting) > 2 * self._jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            reason = "a process of --jobs ended before its work (out of memory?)"
            raise CgruError(f"{reason}; try fewer --jobs") from error
        finally:
            for future in waiting:
                future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not fork: it copies locks that threads of this process may hold.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, context, initializer=_start)
        return self._pool


def alone(work: Callable[..., Result], *arguments: Any) -> Result:
    """The result of `work(*arguments)`, run in a process of its own.

    For work during which Python handles no signals: this process handles them, and kills the other.
    Raises what the work raises.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work_alone, args=(sender, work, arguments), daemon=True)
    try:
        process.start()
        sender.close()
        succeeded, value = receiver.recv()
    except EOFError as error:
        raise CgruError("a process ended before its work (out of memory?)") from error
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
    if not succeeded:
        raise value
    return value


def _work_alone(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    _start()
    try:
        outcome = True, work(*arguments)
    except Exception as error:
        outcome = False, error
    sender.send(outcome)


def _start() -> None:
    """Prepare a new process to end when its parent decides, or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends Ctrl-C to all processes
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    with contextlib.suppress(OSError):
        if parent is not None:
            parent.join()
    os._exit(1)
