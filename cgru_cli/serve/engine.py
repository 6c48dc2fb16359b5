"""The one thread that computes: lines of all clients, in batches that they share."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Protocol, cast

from ..errors import CgruError, reason
from ..score.pair_scorer import PairScorer
from ..system.garbage import collect_due
from ..system.terminal import tell
from ..system.windows import batches
from ..translate.translator import Translation
from .fair_queue import FairQueue
from .shared_search import SharedSearch
from .work import Broken, Deliver, Job, Kind, Line, Pair, Ticket, TooLarge

SEARCHES = 4  # of different kinds that go on at a time, each within the workspace
IDLE = 1.0  # seconds between two looks for garbage, while there is nothing to compute


class Full(CgruError):
    """The queue has no room for the request."""


class Observer(Protocol):
    """What is told of the computation."""

    def translated(self, words: int, translation: Translation) -> None:
        """A line was translated; words: of its source."""

    def scored(self, words: int) -> None:
        """A pair was scored; words: of its translation."""

    def batch(self, lines: int) -> None:
        """So many lines are computed together now."""


class Engine:
    """Requests in from any thread, answers out from the one that computes.

    Lines of one kind (model and search) join one search while it runs; kinds take turns. A line
    that nobody waits for any more leaves the queue, or its search, at the next step. A batch that
    fails, for memory say, is tried again line by line, and only those lines fail that fail alone.
    Between steps it collects Python's garbage, where that is left to it (`system.garbage`).
    """

    def __init__(self, metrics: Observer, *, queue: int = 10_000, batch_wait: float = 0.005):
        """queue: lines that may wait; batch_wait: seconds that a line waits for others."""
        self.metrics, self.batch_wait = metrics, batch_wait
        self._queue: FairQueue[Kind, Job] = FairQueue(queue)
        self._since: dict[Kind, float] = {}  # when the first came of those that wait
        self._changed = threading.Condition()
        self._searches: dict[Kind, SharedSearch] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="computation", daemon=True)

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    def stop(self) -> None:
        """End without regard to what is still to do."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    @property
    def queued(self) -> int:
        """Lines that wait for their turn."""
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
        """Have the lines of a request computed; `deliver` is told each line's outcome.

        in_order: begin with the first line, not with the shortest. Raises Full
        where the queue has no room for all of them.
        """
        ticket = Ticket(client, kind, deliver)
        jobs = [Job(ticket, number, line) for number, line in enumerate(lines)]
        if not in_order:  # so that lines of like length share a batch
            jobs.sort(key=lambda job: len(job.asked[0]))
        with self._changed:
            if not self._queue.put(kind, client, ticket, jobs):
                raise Full(
                    f"{len(self._queue)} lines are waiting, and there is room for "
                    f"{self._queue.limit}; try again later"
                )
            self._since.setdefault(kind, time.monotonic())
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Compute nothing more for a request."""
        ticket.cancelled = True
        with self._changed:
            for kind in (ticket.kind, ticket.kind._replace(alone=True)):
                self._queue.drop(kind, ticket.client, ticket)

    def waiting(self, kind: Kind) -> tuple[int, float]:
        """How many lines of a kind wait, and since when the first does."""
        with self._changed:
            return self._queue.count(kind), self._since.get(kind, 0.0)

    def take(self, kind: Kind) -> Job | None:
        """The line whose turn it is."""
        with self._changed:
            job = self._queue.take(kind)
            if self._queue.count(kind):
                self._since[kind] = time.monotonic()
            else:
                self._since.pop(kind, None)
            return job

    @property
    def crowded(self) -> bool:
        """Whether lines of another kind wait for a running search to end."""
        with self._changed:
            others = any(kind not in self._searches for kind in self._queue.kinds)
        return others and len(self._searches) >= SEARCHES

    def _run(self) -> None:
        while self._wait():
            collect_due()
            for kind in self._ready():
                if kind.settings is None:
                    self._score(kind)
                else:
                    self._search(kind)

    def _wait(self) -> bool:
        """Wait until there is something to do; False at the end."""
        with self._changed:
            while not self._stopping and not self._searches:
                waits = [self._patience(kind) for kind in self._queue.kinds]
                if waits and min(waits) <= 0:
                    break
                self._changed.wait(min(waits) if waits else IDLE)
                collect_due()
            return not self._stopping

    def _patience(self, kind: Kind) -> float:
        """Seconds that the lines of a kind can still wait for others before they begin."""
        if self._queue.count(kind) >= kind.model.plan.mini_batch:
            return 0
        return self._since.get(kind, 0.0) + self.batch_wait - time.monotonic()

    def _ready(self) -> list[Kind]:
        """The kinds that are searched, and those that have waited long enough to begin."""
        with self._changed:
            new = [k for k in self._queue.kinds if k not in self._searches]
            new = [k for k in new if self._patience(k) <= 0]
            return [*self._searches, *new[: SEARCHES - len(self._searches)]]

    def _search(self, kind: Kind) -> None:
        search = self._searches.get(kind)
        try:
            if search is None:
                search = self._searches[kind] = SharedSearch(self, kind)
            if not search.advance():
                del self._searches[kind]
        except Exception as error:
            self._searches.pop(kind, None)
            self._failed(search.jobs if search else [], error)

    def _score(self, kind: Kind) -> None:
        scorer = kind.model.scorer
        jobs: list[Job] = []
        most = 1 if kind.alone else kind.model.plan.mini_batch
        while len(jobs) < most and (job := self.take(kind)) is not None:
            jobs.append(job)
        try:
            self._score_batches(scorer, jobs)
        except Exception as error:
            self._failed(jobs, error)

    def _score_batches(self, scorer: PairScorer, jobs: list[Job]) -> None:
        """Score as many lines as fit together; those that are done leave the list."""
        read = []
        for job in list(jobs):
            try:
                asked = cast(Pair, job.asked)
                read.append((job, scorer.read(asked.source, asked.target, job.number)))
            except CgruError as error:
                jobs.remove(job)
                job.done(error)
        sizes = [max(max(map(len, one)) for one in lines) + 1 for _, lines in read]
        for batch in batches(sizes, len(read) or 1, scorer.max_tokens):
            self.metrics.batch(len(batch))
            numbers = [read[i][0].number for i in batch]
            pairs = scorer.batch(numbers, [read[i][1] for i in batch])
            for i, pair in zip(batch, pairs, strict=True):
                job = read[i][0]
                jobs.remove(job)
                self.metrics.scored(len(pair.hypothesis.tokens))
                job.done(pair)

    def _failed(self, jobs: Sequence[Job], error: Exception) -> None:
        """Try lines again that failed together, each alone; a line that was alone has failed."""
        for job in jobs:
            kind = job.ticket.kind
            if len(jobs) == 1:
                job.done(_failure(error))
                continue
            alone = kind._replace(alone=True)
            with self._changed:
                if self._queue.put(alone, job.ticket.client, job.ticket, [job]):
                    self._since.setdefault(alone, 0.0)
                    continue
            job.done(_failure(error))


def _failure(error: Exception) -> CgruError:
    """What a client is told of a line that cannot be computed."""
    if isinstance(error, CgruError):
        return error
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind == "ResourceExhaustedError":
        return TooLarge("there is not enough memory for this line; shorten it, or its beam")
    with contextlib.suppress(Exception):
        tell(f"internal error, {kind}: {reason(error)}; the server goes on")
    return Broken(f"internal error, {kind}")
