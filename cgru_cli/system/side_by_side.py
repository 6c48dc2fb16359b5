"""Run iterators side by side, each in a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")


def processors() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


def side_by_side(iterators: Iterable[Iterator[Item]], threads: int) -> Iterator[Item]:
    """Yield the items of all iterators as they come; at most so many iterators run at a time.

    With one thread, they run one after another in the caller's thread. An exception of an iterator
    is raised here, and ends the others after the item that they are making.
    """
    waiting = iter(iterators)
    if threads < 2:
        for iterator in waiting:
            yield from iterator
        return
    made: SimpleQueue[tuple[bool, Item | BaseException | None]] = SimpleQueue()
    lock, stopped = threading.Lock(), threading.Event()

    def run() -> None:
        try:
            while not stopped.is_set():
                with lock:
                    iterator = next(waiting, None)
                if iterator is None:
                    break
                for item in iterator:
                    made.put((True, item))
                    if stopped.is_set():
                        break
            made.put((False, None))
        except BaseException as error:
            stopped.set()
            made.put((False, error))

    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    running = len(workers)
    try:
        while running:
            more, item = made.get()
            if more:
                yield item  # type: ignore[misc]
            elif isinstance(item, BaseException):
                raise item
            else:
                running -= 1
    finally:
        stopped.set()


def together_in(
    max_tokens: int, lengths: Sequence[int], batches: Sequence[Sequence[int]], threads: int
) -> int:
    """The number of batches to compute at a time, at least 1: at most threads, and max_tokens.

    lengths: tokens of each item; batches: their indices, padded to the longest of each batch.
    """
    largest = max((len(batch) * max(lengths[i] for i in batch) for batch in batches), default=1)
    return max(1, min(threads, len(batches), max_tokens // largest))
