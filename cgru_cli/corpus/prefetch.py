"""An iterator whose items are prepared ahead in a thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Iterator
from typing import Generic, Self

from .batches import Item


class Ahead(Generic[Item]):
    """An iterator whose items a thread makes ahead of their use, at most `depth` of them.

    An error in the making is raised where its item would have come. Use it with `with`, or
    `close` it, to end the thread.

    waited: seconds in which an item was asked for that was not yet made
    """

    def __init__(self, items: Iterator[Item], depth: int = 4):
        self.waited = 0.0
        self._items = items
        self._depth = depth
        self._made: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def _make(self) -> None:
        try:
            while self._has_room():
                item = next(self._items)
                with self._changed:
                    self._made.append(item)
                    self._changed.notify_all()
        except StopIteration:
            pass
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait for room; False if no more items are wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._made) < self._depth)
            return not self._closed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        with self._changed:
            if not self._made and not self._ended:
                begun = time.perf_counter()
                self._changed.wait_for(lambda: self._made or self._ended)
                self.waited += time.perf_counter() - begun
            if self._made:
                self._changed.notify_all()
                return self._made.popleft()
        if self._error is not None:
            raise self._error
        raise StopIteration

    def close(self) -> None:
        """End the thread, after the item that it is making, and what it takes items from."""
        with self._changed:
            self._closed = True
            self._made.clear()
            self._changed.notify_all()
        self._thread.join()
        if isinstance(self._items, Generator):
            self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
