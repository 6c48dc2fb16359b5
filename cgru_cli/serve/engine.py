"""The only thread that computes, with shared batches for the lines of all clients."""

import threading
import time
from collections.abc import Sequence

from ..errors import WARNS
from ..system.garbage import collect_due
from .fair_queue import FairQueue
from .metrics import Metrics
from .problems import Refusal
from .shared_scoring import SharedScoring
from .shared_search import SharedSearch
from .work import Deliver, Job, Kind, Line, Pair, Ticket

RUNNING = 4  # kinds computed at a time, each of which may fill the workspace
LARGE = 2  # kinds of large requests among them
TURN = 500  # row-steps for which a kind may continue; a single step may cost more
IDLE = 1.0  # seconds between garbage collections while the engine is idle


class Engine:
    """Takes requests from any thread and computes them in its own thread.

    Lines of one kind (model and search) share a search, which other lines join while it runs. Kinds
    take turns of a few steps of bounded cost; the kind with the lowest cost so far is next, or a
    small kind that arrives during the turn of a large kind. Large and small requests are of
    different kinds, so that even a large request delays others by only a few steps. Lines of a
    cancelled request leave the queue, or their search at the next step. If a batch fails, for
    example for lack of memory, its lines are retried one by one, so that only the faulty line
    fails. The thread also collects Python's garbage between steps, inside
    `system.garbage.collected_by_hand`.
    """

    def __init__(self, metrics: Metrics, *, queue: int = 10_000, batch_wait: float = 0.005):
        """queue: maximum number of waiting lines; batch_wait: seconds to wait for more lines."""
        self.metrics, self.batch_wait = metrics, batch_wait
        self._queue: FairQueue[Kind, Job] = FairQueue(queue)
        self._changed = threading.Condition()  # guards the queue
        self._running: dict[Kind, SharedScoring | SharedSearch] = {}
        self._last: Kind | None = None  # computed last, or started since
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="computation", daemon=True)

    # --- for any thread -------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current step, even if lines are waiting."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

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

    # --- the queue, for searches and scorings ----------------------------------------------------

    def waiting(self, kind: Kind) -> tuple[int, bool]:
        """The number of lines of a kind in the queue, and whether they have waited long enough."""
        with self._changed:
            return self._queue.waiting(kind)[0], self._patience(kind) <= 0

    def take(self, kind: Kind) -> Job | None:
        """Remove and return the next line of a kind, None if there is none."""
        with self._changed:
            return self._queue.take(kind)

    def crowded(self, kind: Kind) -> bool:
        """Whether another kind cannot start until a running kind like this one ends."""
        with self._changed:
            waiting = [other for other in self._waiting_kinds() if not self._may_start(other)]
        return any(kind.large or not other.large or not self._large_full for other in waiting)

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        WARNS.set(False)  # warnings about lines quote them
        while self._wait():
            collect_due()
            self._start_due()
            if self._running:
                self._advance(self._turn())

    def _turn(self) -> Kind:
        """The kind to compute now: the last kind until it has cost TURN more than the cheapest."""
        cheapest = min(self._running, key=lambda kind: self._running[kind].work)
        last = self._last and self._running.get(self._last)
        if not last or last.work >= self._running[cheapest].work + TURN:
            self._last = cheapest
        return self._last or cheapest

    def _wait(self) -> bool:
        """Wait for something to compute; returns False if the thread must end."""
        with self._changed:
            while not self._stopping and not self._running:
                waits = [self._patience(kind) for kind in self._queue.kinds]
                if waits and min(waits) <= 0:
                    break
                self._changed.wait(min(waits) if waits else IDLE)
                collect_due()
            return not self._stopping

    def _patience(self, kind: Kind) -> float:
        """The seconds that a kind's queued lines may still wait for others."""
        count, since = self._queue.waiting(kind)
        if kind.alone or count >= kind.model.plan.mini_batch:
            return 0
        return since + self.batch_wait - time.monotonic()

    def _waiting_kinds(self) -> list[Kind]:
        """The queued kinds that are not running."""
        return [kind for kind in self._queue.kinds if kind not in self._running]

    @property
    def _large_full(self) -> bool:
        """Whether the limit on kinds of large requests is reached."""
        return sum(kind.large for kind in self._running) >= LARGE

    def _may_start(self, kind: Kind) -> bool:
        """Whether this kind may run beside the running kinds."""
        return len(self._running) < RUNNING and not (kind.large and self._large_full)

    def _start_due(self) -> None:
        """Start kinds that have waited long enough, or at once while other kinds run."""
        with self._changed:
            waiting = self._waiting_kinds()
        for kind in waiting:
            if self._may_start(kind) and (self._running or self._patience(kind) <= 0):
                self._start(kind)

    def _start(self, kind: Kind) -> None:
        start = SharedScoring if kind.settings is None else SharedSearch
        try:
            work = start(kind, self, self.metrics)
        except Exception as error:
            if job := self.take(kind):
                job.failed(error)
            return
        work.work = min((one.work for one in self._running.values()), default=0.0)
        self._running[kind] = work
        if self._last and self._last.large and not kind.large:
            self._last = kind  # a few lines may need less than a turn

    def _advance(self, kind: Kind) -> None:
        """Continue the computation of a kind."""
        work = self._running[kind]
        try:
            if not work.advance():
                del self._running[kind]
        except Exception as error:
            del self._running[kind]
            self._fail(work.jobs, error)

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Retry lines that failed together one by one; a single line gets the failure."""
        for job in jobs:
            if len(jobs) > 1:
                alone = job.ticket.kind._replace(alone=True)
                with self._changed:
                    if self._queue.put(alone, job.ticket.client, job.ticket, [job]):
                        continue
            job.failed(error)
