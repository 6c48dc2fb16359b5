"""The same work on chunk after chunk, by several processes, results in order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import Connection
from typing import Any, Self

from ..errors import CgruError

Make = Callable[..., Callable[[Any], Any]]

_last: tuple[bytes, Callable[[Any], Any]] | None = None  # of a worker: its recipe and work


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class ProcessPool:
    """Processes that are started when there is work for more than one, and end with the block."""

    def __init__(self, jobs: int):
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def in_order(
        self, make: Make, arguments: tuple[Any, ...], chunks: Iterable[Any]
    ) -> Iterator[Any]:
        """The results of `make(*arguments)(chunk)` for every chunk, in the order of the chunks.

        `make` is called once in each process. No more than a few chunks a process are in memory.
        A single chunk, or one job, is done in this process. Raises what the work raises.
        """
        chunks = iter(chunks)
        first = list(islice(chunks, 2))
        if self._jobs == 1 or len(first) < 2:
            work = make(*arguments)
            yield from map(work, chain(first, chunks))
            return
        recipe = pickle.dumps((make, arguments))
        waiting: deque = deque()
        try:
            for chunk in chain(first, chunks):
                waiting.append(self._started().submit(_call, recipe, chunk))
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


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `work(*arguments)`, run in a process of its own.

    For work that is deaf to signals until it is done: this process hears them, and ends the other.
    Raises what the work raises.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work_alone, args=(sender, work, arguments), daemon=True)
    try:
        process.start()
        sender.close()
        done, value = receiver.recv()
    except EOFError as error:
        raise CgruError("a process ended before its work (out of memory?)") from error
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
    if not done:
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End a worker whose parent was killed, which is not signalled."""
    parent = multiprocessing.parent_process()
    with contextlib.suppress(OSError):
        if parent is not None:
            parent.join()
    os._exit(1)


def _call(recipe: bytes, chunk: Any) -> Any:
    global _last
    if _last is None or _last[0] != recipe:
        make, arguments = pickle.loads(recipe)  # noqa: S301 - of the parent process
        _last = recipe, make(*arguments)
    return _last[1](chunk)
