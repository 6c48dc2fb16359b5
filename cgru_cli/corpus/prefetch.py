"""An iterator that prepares its items ahead of use, in a thread."""

import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Self

from .batches import Item


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
