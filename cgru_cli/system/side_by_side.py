"""Iterators in threads: several side by side, or one ahead of its use."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, Self, TypeVar

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


class Ahead(Generic[Item]):
    """An iterator over items that a thread makes ahead of use, at most `depth` of them.

    An error while making an item is raised instead of that item. Use the iterator with `with`, or
    call `close`, to end the thread.

    waited: seconds spent waiting for items that were not ready
    """

    def __init__(self, items: Iterator[Item], depth: int = 4):
        self.waited = 0.0
        self._items = items
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._made: deque[Future[Item]] = deque()
        for _ in range(depth):
            self._make_another()

    def _make_another(self) -> None:
        self._made.append(self._thread.submit(next, self._items))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if not self._made:
            raise StopIteration
        begun = time.perf_counter()
        item = self._made.popleft().result()
        self.waited += time.perf_counter() - begun
        self._make_another()
        return item

    def close(self) -> None:
        """End the thread after its current item, and the generator that it reads."""
        self._made.clear()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if isinstance(self._items, Generator):
            self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
