"""A queue in which clients take turns, and so do the requests of one client."""

import time
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)
Item = TypeVar("Item")


@dataclass
class _Waiting(Generic[Item]):
    """The items of one kind."""

    count: int = 0
    since: float = field(default_factory=time.monotonic)  # time of the first item or last `take`
    # the items of each request, by client and request; the first of each dict is next
    clients: dict[Hashable, dict[Hashable, deque[Item]]] = field(default_factory=dict)


class FairQueue(Generic[Kind, Item]):
    """At most `limit` items of several kinds, each belonging to a client's request.

    Within a kind, clients take turns item by item, and so do the requests of a client: a client
    with few items does not wait for a client with many. Not thread-safe.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._kinds: dict[Kind, _Waiting[Item]] = {}

    def __len__(self) -> int:
        return sum(waiting.count for waiting in self._kinds.values())

    @property
    def kinds(self) -> list[Kind]:
        """The kinds with items in the queue."""
        return list(self._kinds)

    def waiting(self, kind: Kind) -> tuple[int, float]:
        """The number of items of a kind, and when their wait began (`time.monotonic`)."""
        waiting = self._kinds.get(kind)
        return (waiting.count, waiting.since) if waiting else (0, 0.0)

    def put(self, kind: Kind, client: Hashable, request: Hashable, items: list[Item]) -> bool:
        """Add all items of a request unless they exceed the limit; returns whether they fit."""
        if len(self) + len(items) > self.limit:
            return False
        if items:
            waiting = self._kinds.setdefault(kind, _Waiting())
            requests = waiting.clients.setdefault(client, {})
            requests.setdefault(request, deque()).extend(items)
            waiting.count += len(items)
        return True

    def take(self, kind: Kind) -> Item | None:
        """Remove and return the next item of a kind, None if there is none."""
        if kind not in self._kinds:
            return None
        waiting = self._kinds[kind]
        client = next(iter(waiting.clients))
        requests = waiting.clients.pop(client)
        request = next(iter(requests))
        items = requests.pop(request)
        item = items.popleft()
        if items:
            requests[request] = items
        if requests:
            waiting.clients[client] = requests
        waiting.since = time.monotonic()
        self._remove(kind, 1)
        return item

    def drop(self, kind: Kind, client: Hashable, request: Hashable) -> None:
        """Remove the items of a request."""
        if kind not in self._kinds:
            return
        clients = self._kinds[kind].clients
        items = clients.get(client, {}).pop(request, ())
        if client in clients and not clients[client]:
            del clients[client]
        self._remove(kind, len(items))

    def _remove(self, kind: Kind, count: int) -> None:
        self._kinds[kind].count -= count
        if not self._kinds[kind].count:
            del self._kinds[kind]
