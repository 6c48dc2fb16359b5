"""Outcomes from the thread that computes to those that wait for them in an event loop."""

from __future__ import annotations

import asyncio
from collections import deque

from .work import Deliver, Outcome


class HandOver:
    """Takes outcomes from any thread to the loop's, all that are ready at a time.

    Waking the loop for each would cost as much as answering it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self.loop = loop
        self._ready: deque[tuple[Deliver, int, Outcome]] = deque()
        self._woken = False

    def to(self, deliver: Deliver) -> Deliver:
        """What another thread may call for `deliver` to be called in the loop's."""

        def from_elsewhere(number: int, outcome: Outcome) -> None:
            self._ready.append((deliver, number, outcome))
            if not self._woken and not self.loop.is_closed():
                self._woken = True
                self.loop.call_soon_threadsafe(self._deliver)

        return from_elsewhere

    def _deliver(self) -> None:
        self._woken = False  # first: what comes from now on wakes the loop again
        while self._ready:
            deliver, number, outcome = self._ready.popleft()
            deliver(number, outcome)
