"""The threads that compute, with shared batches for the lines of all clients."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import WARNS
from .fair_queue import FairQueue
from .metrics import Metrics
from .problems import Refusal
from .shared_scoring import SharedScoring
from .shared_search import SharedSearch
from .work import Deliver, Job, Kind, Line, Pair, Ticket

RUNNING = 4  # kinds computed at a time, unless there are more threads
LARGE = 2  # kinds of large requests among them, likewise
TURN = 500  # row-steps for which a computation may continue; a single step may cost more
FEW = 8  # lines that one thread computes nearly as fast as several threads


@dataclass(eq=False)
class _Running:
    """A search or scoring of one kind, which one thread at a time advances.

    cost: its row-steps, times the number of computations of its kind while they were computed, so
    that kinds get equal shares of the threads.
    """

    kind: Kind
    cost: float
    shared: SharedScoring | SharedSearch | None = None  # None until its first turn
    taken: bool = False  # whether a thread is advancing it


class Engine:
    """Takes requests from any thread and computes them in its own threads.

    Lines of one kind (model and search) share a search, which other lines join while it runs. If
    lines still wait and a thread has nothing to do, it starts another search of their kind.
    Searches take turns of a few steps of bounded cost; a thread continues with the search that has
    the lowest cost so far, or with a small kind that arrived during the turn of a large kind. Large
    and small requests are of different kinds, so that even a large request delays others by only a
    few steps. Lines of a cancelled request leave the queue, or their search at the next step. If a
    batch fails, for example for lack of memory, its lines are retried one by one, so that only the
    faulty line fails.
    """

    def __init__(
        self, metrics: Metrics, *, queue: int = 10_000, batch_wait: float = 0.005, threads: int = 1
    ):
        """queue: maximum number of waiting lines; batch_wait: seconds to wait for more lines."""
        self.metrics, self.batch_wait = metrics, batch_wait
        self._queue: FairQueue[Kind, Job] = FairQueue(queue)
        self._changed = threading.Condition()  # guards the queue and everything below
        self._running: list[_Running] = []
        self._idle = 0  # threads that wait for something to compute
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, name=f"computation {number}", daemon=True)
            for number in range(threads)
        ]

    # --- for any thread -------------------------------------------------------------------------

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads after their current steps, even if lines are waiting."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    @property
    def queued(self) -> int:
        """The number of lines in the queue."""
        with self._changed:
            return len(self._queue)

    def submit(
        self,
        client: str,
        kind: Kind,
        lines: Sequence[Line | Pair],
        deliver: Deliver,
        *,
        in_order: bool = False,
    ) -> Ticket:
        """Queue the lines of a request; `deliver` receives each line's outcome.

        in_order: start with the first line instead of the shortest. Raises Refusal if the queue has
        no room for all lines.
        """
        kind = kind._replace(large=kind.is_large(lines))
        ticket = Ticket(client, kind, deliver)
        jobs = [Job(ticket, number, line) for number, line in enumerate(lines)]
        if not in_order:  # so that lines of similar length share a batch
            jobs.sort(key=lambda job: len(job.asked[0]))
        with self._changed:
            if not self._queue.put(kind, client, ticket, jobs):
                waiting, limit = len(self._queue), self._queue.limit
                raise Refusal(
                    "queue_full",
                    f"{waiting} lines are waiting, and there is room for {limit}; try again later",
                    {"Retry-After": "2"},
                )
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Stop computing for a request."""
        ticket.cancelled = True
        with self._changed:
            for kind in (ticket.kind, ticket.kind._replace(alone=True)):
                self._queue.drop(kind, ticket.client, ticket)

    # --- for searches and scorings --------------------------------------------------------------

    @property
    def threads(self) -> int:
        """The number of threads that compute."""
        return len(self._threads)

    @property
    def workspace_share(self) -> float:
        """The share of the workspace for each computation; all together have it RUNNING times."""
        return RUNNING / (self._most_kinds + self.threads - 1)

    def waiting(self, kind: Kind) -> tuple[int, bool]:
        """The number of lines of a kind in the queue, and whether they have waited long enough."""
        with self._changed:
            return self._queue.waiting(kind)[0], self._patience(kind) <= 0

    def share(self, kind: Kind) -> int:
        """The number of lines that a computation of a kind may have, to leave some for others.

        The others are the computations of this kind, and those that idle threads will start.
        """
        with self._changed:
            running = [one for one in self._running if one.kind == kind]
            lines = sum(one.shared.size for one in running if one.shared)
            lines += self._queue.waiting(kind)[0]
            threads = min(len(running) + self._idle, self.threads)
        return max(FEW, math.ceil(lines / max(1, threads)))

    def take(self, kind: Kind) -> Job | None:
        """Remove and return the next line of a kind, None if there is none."""
        with self._changed:
            return self._queue.take(kind)

    def crowded(self, kind: Kind) -> bool:
        """Whether another kind cannot start until a running kind like this one ends."""
        with self._changed:
            running = {one.kind for one in self._running}
            waiting = [other for other in self._queue.kinds if other not in running]
            waiting = [other for other in waiting if not self._may_start(other)]
            return any(kind.large or not other.large or not self._large_full for other in waiting)

    # --- the threads ----------------------------------------------------------------------------

    def _run(self) -> None:
        WARNS.set(False)  # warnings about lines quote them
        last = None
        while last := self._next(last):
            self._advance(last)

    def _next(self, last: _Running | None) -> _Running | None:
        """Wait for a computation to advance, and take it; None if the thread must end.

        last: the computation that the thread has advanced last.
        """
        with self._changed:
            while not self._stopping:
                self._start_due()
                if turn := self._turn(last):
                    turn.taken = True
                    if self._free or len(self._queue):  # perhaps for another thread
                        self._changed.notify()
                    return turn
                self._idle += 1
                self._changed.wait(self._pause())
                self._idle -= 1
            return None

    @property
    def _free(self) -> list[_Running]:
        """The computations that no thread is advancing."""
        return [one for one in self._running if not one.taken]

    def _turn(self, last: _Running | None) -> _Running | None:
        """The free computation to advance now: the last until it has cost TURN more than others."""
        free = self._free
        if not free:
            return None
        cheapest = min(free, key=lambda one: (one.cost, one.kind.large))
        if last is None or last not in free:
            return cheapest
        new = (one for one in free if one.shared is None and not one.kind.large)
        if last.kind.large and (small := next(new, None)):
            return small  # a few lines may need less than a turn
        return last if last.cost < cheapest.cost + TURN else cheapest

    def _pause(self) -> float | None:
        """The seconds until a kind is due; None if none is waiting that may start."""
        waits = [self._patience(kind) for kind in filter(self._may_start, self._queue.kinds)]
        return max(0, min(waits)) if waits else None

    def _patience(self, kind: Kind) -> float:
        """The seconds that a kind's queued lines may still wait for others."""
        count, since = self._queue.waiting(kind)
        if kind.alone or count >= kind.model.defaults.mini_batch:
            return 0
        return since + self.batch_wait - time.monotonic()

    @property
    def _most_kinds(self) -> int:
        """The maximum number of kinds computed at a time."""
        return max(RUNNING, self.threads)

    @property
    def _large_full(self) -> bool:
        """Whether the limit on kinds of large requests is reached."""
        most = max(LARGE, self.threads // 2)
        return len({one.kind for one in self._running if one.kind.large}) >= most

    def _may_start(self, kind: Kind) -> bool:
        """Whether a computation of this kind may start beside the running ones."""
        running = [one for one in self._running if one.kind == kind]
        if not running:
            kinds = {one.kind for one in self._running}
            return len(kinds) < self._most_kinds and not (kind.large and self._large_full)
        if kind.alone or len(running) == self.threads or self.crowded(kind):
            return False
        begins = sum(one.shared is None or not one.shared.size for one in running)
        return self._queue.waiting(kind)[0] > FEW * begins  # those take some lines

    def _start_due(self) -> None:
        """Start computations of kinds that wait, in the order in which their lines were taken.

        While other computations wait for a thread, new kinds start at once. Otherwise the thread
        has nothing else to do, and a kind starts after its patience, even beside another
        computation of the same kind.
        """
        for kind in sorted(self._queue.kinds, key=lambda kind: self._queue.waiting(kind)[1]):
            if self._free:
                is_due = all(one.kind != kind for one in self._running)
            else:
                is_due = self._patience(kind) <= 0
            if is_due and self._may_start(kind):
                cost = min((one.cost for one in self._running), default=0.0)
                self._running.append(_Running(kind, cost))

    def _advance(self, one: _Running) -> None:
        """Continue a computation by a step, and release it."""
        goes_on, work = False, 0.0
        try:
            if one.shared is None:
                start = SharedScoring if one.kind.settings is None else SharedSearch
                one.shared = start(one.kind, self, self.metrics)
            goes_on = one.shared.advance()
            work = one.shared.work
        except Exception as error:
            jobs = one.shared.jobs if one.shared else [self.take(one.kind)]
            self._fail([job for job in jobs if job], error)
        with self._changed:
            one.taken = False
            one.cost += work * sum(other.kind == one.kind for other in self._running)
            if not goes_on:
                self._running.remove(one)
                one.shared = None  # the thread may keep `one` for long

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Retry lines that failed together one by one; a single line gets the failure."""
        for job in jobs:
            if len(jobs) > 1:
                alone = job.ticket.kind._replace(alone=True)
                with self._changed:
                    if self._queue.put(alone, job.ticket.client, job.ticket, [job]):
                        continue
            job.failed(error)
