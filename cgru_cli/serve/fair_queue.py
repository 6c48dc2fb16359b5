"""Lines that wait for their turn: clients take turns, and so do the requests of one client."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)
Item = TypeVar("Item")


class FairQueue(Generic[Kind, Item]):
    """Items of several kinds, each of a request of a client; at most `limit` of them.

    Within a kind one item of each client is taken in turn, and of its requests in turn too, so
    that nobody waits longer for having sent less. No lock: whoever uses it holds one.
    """

    def __init__(self, limit: int):
        self.limit, self._count = limit, 0
        self._kinds: dict[Kind, dict[Hashable, dict[Hashable, deque[Item]]]] = {}
        self._counts: dict[Kind, int] = {}

    def __len__(self) -> int:
        return self._count

    def count(self, kind: Kind) -> int:
        """How many items of a kind wait."""
        return self._counts.get(kind, 0)

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of which items wait."""
        return list(self._kinds)

    def put(self, kind: Kind, client: Hashable, request: Hashable, items: list[Item]) -> bool:
        """Add the items of a request, all or, where there is no room, none: whether they are in."""
        if self._count + len(items) > self.limit:
            return False
        if items:
            requests = self._kinds.setdefault(kind, {}).setdefault(client, {})
            requests.setdefault(request, deque()).extend(items)
            self._add(kind, len(items))
        return True

    def take(self, kind: Kind) -> Item | None:
        """The item of a kind whose turn it is; None if there is none."""
        if kind not in self._kinds:
            return None
        clients = self._kinds[kind]
        client = next(iter(clients))
        requests = clients.pop(client)
        request = next(iter(requests))
        items = requests.pop(request)
        item = items.popleft()
        if items:
            requests[request] = items
        if requests:
            clients[client] = requests
        if not clients:
            del self._kinds[kind]
        self._add(kind, -1)
        return item

    def drop(self, kind: Kind, client: Hashable, request: Hashable) -> None:
        """Forget the items of a request."""
        clients = self._kinds.get(kind, {})
        items = clients.get(client, {}).pop(request, None)
        if items is None:
            return
        if not clients[client]:
            del clients[client]
        if not clients:
            del self._kinds[kind]
        self._add(kind, -len(items))

    def _add(self, kind: Kind, count: int) -> None:
        self._count += count
        self._counts[kind] = self._counts.get(kind, 0) + count
        if not self._counts[kind]:
            del self._counts[kind]
