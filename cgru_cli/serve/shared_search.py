"""A search that lines of all clients join while it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import CgruError
from ..translate.requests import Request
from .metrics import Metrics
from .served_model import ServedModel
from .work import Job, Kind, Line, Lines

if TYPE_CHECKING:
    from ..search.hypotheses import SearchBatch
    from ..search.settings import SearchSettings

LASTS = 4096  # lines of a search, whose bookkeeping grows with each, before a new one starts
LASTS_IN_A_CROWD = 256  # the same while other kinds wait for this one to end
STEPS_BETWEEN = 6  # steps before a few lines join again


class _Begun(NamedTuple):
    """A line in the search."""

    job: Job
    request: Request

    @property
    def line(self) -> Line:
        """The line as the client sent it."""
        return cast(Line, self.job.asked)

    @property
    def length(self) -> int:
        """The number of source words, the end included."""
        return len(self.request.source) + 1


class SharedSearch:
    """The search of one kind of lines, which it takes from the queue while it runs."""

    def __init__(self, kind: Kind, lines: Lines, metrics: Metrics):
        """kind: one with settings."""
        from ..search.beam import shrinking_beam

        self._kind, self._lines, self._metrics = kind, lines, metrics
        self._model: ServedModel = kind.model
        self._translator = kind.model.translator
        settings = cast("SearchSettings", kind.settings)
        self._max_tokens = kind.model.max_tokens(settings.beam_size)
        self._most = 1 if kind.alone else kind.model.plan.mini_batch
        self._begun = 0  # lines that have joined so far
        self._steps = 0  # since lines joined
        self._held: _Begun | None = None  # taken from the queue, and too long to join now
        self.live: dict[int, _Begun] = {}  # by their number in the search
        self._finished = shrinking_beam(
            self._batches(), settings, at_any_step=True, given_up=self._given_up
        )

    @property
    def jobs(self) -> list[Job]:
        """The lines that were taken and have no outcome yet."""
        held = [self._held.job] if self._held else []
        return [begun.job for begun in self.live.values()] + held

    def advance(self) -> bool:
        """Search until a line is finished; returns False if there was none left."""
        finished = next(self._finished, None)
        if finished is None:
            return False
        number, hypotheses = finished
        begun = self.live.pop(number, None)
        if begun is not None:
            results = self._translator.results
            translation = results.translation(begun.job.number, begun.request, hypotheses)
            self._metrics.translated(begun.length - 1, translation)
            begun.job.done(translation)
        return True

    def _given_up(self) -> list[int]:
        """Forget the lines of cancelled requests, and return their numbers."""
        gone = [number for number, begun in self.live.items() if begun.job.ticket.cancelled]
        for number in gone:
            del self.live[number]
        return gone

    @property
    def _open(self) -> bool:
        """Whether more lines may join."""
        if self._begun < LASTS_IN_A_CROWD or self._held:
            return True
        return self._begun < LASTS and not self._lines.crowded()

    def _batches(self) -> Iterator[SearchBatch | None]:
        """The lines that join before each step, None where there are none."""
        while self._open:
            lines = list(self._joining(self._room()))
            if not lines:
                yield None
                continue
            for begun in lines:
                self.live[self._begun] = begun
                self._begun += 1
            self._metrics.batch(len(self.live))
            batch = self._translator.begin([(one.job.number, one.request) for one in lines])
            limits = list(batch.limits)
            for i, one in enumerate(lines):
                if one.line.next_only:
                    limits[i] = len(one.request.prefix) + 1
            yield batch._replace(limits=limits)

    def _room(self) -> int:
        """The number of lines that may join now.

        Encoding new lines takes about as long as a step. If more lines wait than there is room
        for, a whole batch joins once half of the previous one is finished, as in `cgru translate`.
        Otherwise the waiting lines join if they are many compared to the search, or have waited as
        long as they may.
        """
        waiting, overdue = self._lines.waiting(self._kind)
        live, most = len(self.live), self._most
        self._steps += 1
        if not live or waiting + bool(self._held) > most - live:
            return most if 2 * live <= most else 0
        overdue = overdue or bool(self._held)
        joins = 4 * waiting >= live or (overdue and self._steps >= STEPS_BETWEEN)
        return most - live if joins else 0

    def _joining(self, room: int) -> Iterator[_Begun]:
        """The next lines of the queue, at most `room`, that fit into the memory together."""
        if not room:
            return
        self._steps = 0
        together = list(self.live.values()) if room < self._most else []
        longest = max((begun.length for begun in together), default=0)
        for count in range(len(together) + 1, len(together) + room + 1):
            begun = self._held or self._next()
            self._held = None
            if begun is None:
                return
            longest = max(longest, begun.length)
            if count > 1 and count * longest > self._max_tokens:
                self._held = begun
                return
            yield begun

    def _next(self) -> _Begun | None:
        """The next line of the queue that needs a search; others get their outcome here."""
        while (job := self._lines.take(self._kind)) is not None:
            try:
                request = self._read(job)
            except CgruError as error:
                job.done(error)
                continue
            if not request.empty:
                return _Begun(job, request)
            job.done(self._translator.results.empty(job.number))
        return None

    def _read(self, job: Job) -> Request:
        """The line as the search takes it. Raises CgruError if the model cannot read it."""
        line, requests = cast(Line, job.asked), self._translator.requests
        request = requests.read(line.text, job.number)
        if line.required or line.avoided:
            if not self._translator.models[0].writes_text:
                raise CgruError("constraints, avoid: this model gives labels and writes no text")
            constraints = requests.constraints(line.required, line.avoided, job.number)
            request = request._replace(constraints=constraints)
        if not line.prefix:
            return request
        if self._model.right_left:
            raise CgruError("a prefix: this model writes from the end of a sentence")
        return request._replace(prefix=requests.prefix(line.prefix, job.number))
