"""The one thread that computes: lines of all clients, in batches that they share."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence

from ..errors import CgruError, reason
from ..system.garbage import collect_due
from ..system.terminal import tell
from .fair_queue import FairQueue
from .metrics import Metrics
from .shared_scoring import SharedScoring
from .shared_search import SharedSearch
from .work import Deliver, Job, Kind, Line, Pair, Refusal, Ticket

RUNNING = 4  # kinds computed at a time, each within the workspace
IDLE = 1.0  # seconds between garbage collections while there is nothing to compute


class Engine:
    """Takes requests from any thread and computes them in its own.

    Lines of one kind (model and search) share a search, which others join while it runs; kinds
    take turns, step by step. Lines of a cancelled request leave the queue, or their search at the
    next step. The lines of a batch that fails, for lack of memory say, are repeated one by one, so
    that only the line that is too much fails. The thread also collects Python's garbage between
    steps, inside `system.garbage.collected_by_hand`.
    """

    def __init__(self, metrics: Metrics, *, queue: int = 10_000, batch_wait: float = 0.005):
        """queue: most lines that may wait; batch_wait: seconds that a line waits for others."""
        self.metrics, self.batch_wait = metrics, batch_wait
        self._queue: FairQueue[Kind, Job] = FairQueue(queue)
        self._changed = threading.Condition()  # guards the queue
        self._running: dict[Kind, SharedSearch | SharedScoring] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="computation", daemon=True)

    # --- called from any thread -----------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current step, whatever is left to compute."""
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

        in_order: start with the first line; otherwise with the shortest. Raises Refusal if the
        queue has no room for all lines.
        """
        ticket = Ticket(client, kind, deliver)
        jobs = [Job(ticket, number, line) for number, line in enumerate(lines)]
        if not in_order:  # so that lines of similar length share a batch
            jobs.sort(key=lambda job: len(job.asked[0]))
        with self._changed:
            if not self._queue.put(kind, client, ticket, jobs):
                waiting, limit = len(self._queue), self._queue.limit
                raise Refusal(
                    503,
                    f"{waiting} lines are waiting, and there is room for {limit}; try again later",
                    {"Retry-After": "2"},
                )
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Compute nothing more for a request."""
        ticket.cancelled = True
        with self._changed:
            for kind in (ticket.kind, ticket.kind._replace(alone=True)):
                self._queue.drop(kind, ticket.client, ticket)

    # --- `Lines`, for searches and scorings -----------------------------------------------------

    def waiting(self, kind: Kind) -> tuple[int, bool]:
        """The number of lines of a kind in the queue, and whether their patience is over."""
        with self._changed:
            return self._queue.waiting(kind)[0], self._patience(kind) <= 0

    def take(self, kind: Kind) -> Job | None:
        """Remove and return the next line of a kind, None if there is none."""
        with self._changed:
            return self._queue.take(kind)

    def crowded(self) -> bool:
        """Whether lines of another kind wait until a running kind ends."""
        with self._changed:
            others = any(kind not in self._running for kind in self._queue.kinds)
        return others and len(self._running) >= RUNNING

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        while self._wait():
            collect_due()
            for kind in self._due():
                self._advance(kind)

    def _wait(self) -> bool:
        """Wait until there is something to compute; False if the thread must end."""
        with self._changed:
            while not self._stopping and not self._running:
                waits = [self._patience(kind) for kind in self._queue.kinds]
                if waits and min(waits) <= 0:
                    break
                self._changed.wait(min(waits) if waits else IDLE)
                collect_due()
            return not self._stopping

    def _patience(self, kind: Kind) -> float:
        """The seconds for which the lines of a kind in the queue may still wait for others."""
        count, since = self._queue.waiting(kind)
        if kind.alone or count >= kind.model.plan.mini_batch:
            return 0
        return since + self.batch_wait - time.monotonic()

    def _due(self) -> list[Kind]:
        """The running kinds, and as many of those that have waited long enough as may start."""
        with self._changed:
            new = [k for k in self._queue.kinds if k not in self._running]
            new = [k for k in new if self._patience(k) <= 0]
            return [*self._running, *new[: RUNNING - len(self._running)]]

    def _advance(self, kind: Kind) -> None:
        """Start or continue the computation of a kind."""
        work = self._running.get(kind)
        try:
            if work is None:
                start = SharedScoring if kind.settings is None else SharedSearch
                work = self._running[kind] = start(kind, self, self.metrics)
            if not work.advance():
                del self._running[kind]
        except Exception as error:
            self._running.pop(kind, None)
            self._fail(work.jobs if work else [], error)

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Repeat lines that failed together, each alone; a single line has failed."""
        for job in jobs:
            if len(jobs) > 1:
                alone = job.ticket.kind._replace(alone=True)
                with self._changed:
                    if self._queue.put(alone, job.ticket.client, job.ticket, [job]):
                        continue
            job.done(_failure(error))


def _failure(error: Exception) -> CgruError:
    """The outcome of a line that cannot be computed."""
    if isinstance(error, CgruError):
        return error
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind == "ResourceExhaustedError":
        return Refusal(507, "there is not enough memory for this line; shorten it, or its beam")
    with contextlib.suppress(Exception):
        tell(f"internal error, {kind}: {reason(error)}; the server goes on")
    return Refusal(500, f"internal error, {kind}")
