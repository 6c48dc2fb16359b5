"""A search that lines of all clients join while it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import CgruError
from ..translate.requests import Request
from .served_model import ServedModel
from .work import Job, Kind, Line

if TYPE_CHECKING:
    from ..search.hypotheses import SearchBatch
    from ..search.settings import SearchSettings
    from .engine import Engine

LASTS = 4096  # sentences of a search, whose bookkeeping grows with each, before the next begins
STEPS_BETWEEN = 6  # of the search, before few lines join again
LASTS_IN_A_CROWD = 256  # while searches of other kinds wait for this one to end


class _Begun(NamedTuple):
    """A line that the search has begun with."""

    job: Job
    request: Request

    @property
    def length(self) -> int:
        """Words of the source, its end counted."""
        return len(self.request.source) + 1


class SharedSearch:
    """The search of one kind of lines: takes them from the queue, hands over what it finds."""

    def __init__(self, engine: Engine, kind: Kind):
        """kind: one that has settings."""
        from ..search.beam import shrinking_beam

        self._engine, self._kind = engine, kind
        self._model: ServedModel = kind.model
        self._translator = kind.model.translator
        settings = cast("SearchSettings", kind.settings)
        self._max_tokens = kind.model.max_tokens(settings.beam_size)
        self._most = 1 if kind.alone else kind.model.plan.mini_batch
        self._begun = self._steps = 0  # lines so far, and steps since some joined
        self._held: _Begun | None = None  # read, and too long to join now
        self.live: dict[int, _Begun] = {}
        self._finished = shrinking_beam(
            self._batches(), settings, at_any_step=True, given_up=self._given_up
        )

    @property
    def jobs(self) -> list[Job]:
        """What is being searched."""
        held = [self._held.job] if self._held else []
        return [begun.job for begun in self.live.values()] + held

    def advance(self) -> bool:
        """Go on until a line is done; False when there is nothing left to do."""
        finished = next(self._finished, None)
        if finished is None:
            return False
        number, hypotheses = finished
        begun = self.live.pop(number, None)
        if begun is not None:
            translation = self._translator.translation(begun.job.number, begun.request, hypotheses)
            self._engine.metrics.translated(begun.length - 1, translation)
            begun.job.done(translation)
        return True

    def _given_up(self) -> list[int]:
        gone = [number for number, begun in self.live.items() if begun.job.ticket.cancelled]
        for number in gone:
            del self.live[number]
        return gone

    @property
    def _open(self) -> bool:
        """Whether further lines may join."""
        if self._begun < LASTS_IN_A_CROWD or self._held:
            return True
        return self._begun < LASTS and not self._engine.crowded

    def _batches(self) -> Iterator[SearchBatch | None]:
        while self._open:
            lines = list(self._joining(self._room()))
            if not lines:
                yield None
                continue
            for begun in lines:
                self.live[self._begun] = begun
                self._begun += 1
            self._engine.metrics.batch(len(self.live))
            batch = self._translator.begin([(one.job.number, one.request) for one in lines])
            yield batch._replace(
                limits=[
                    len(one.request.prefix) + 1 if _next_only(one.job) else limit
                    for one, limit in zip(lines, batch.limits, strict=True)
                ]
            )

    def _room(self) -> int:
        """How many lines join now: as many as pay for being encoded, which takes about a step.

        Where more wait than there is room for, a whole batch joins once half of the one before is
        done, as in `cgru translate`. Else those join that wait, when they are many for the search,
        or have waited as long as they may.
        """
        waiting, since = self._engine.waiting(self._kind)
        live, most = len(self.live), self._most
        self._steps += 1
        if not live or waiting + bool(self._held) > most - live:
            return most if 2 * live <= most else 0
        long = bool(self._held) or time.monotonic() - since >= self._engine.batch_wait
        joins = 4 * waiting >= live or (long and self._steps >= STEPS_BETWEEN)
        return most - live if joins else 0

    def _joining(self, room: int) -> Iterator[_Begun]:
        """The lines whose turn it is, as many as there is room for."""
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
        """The next line that there is something to search for."""
        while (job := self._engine.take(self._kind)) is not None:
            try:
                request = self._read(job)
            except CgruError as error:
                job.done(error)
                continue
            if self._translator.searches_for(request):
                return _Begun(job, request)
            job.done(self._translator.empty(job.number))
        return None

    def _read(self, job: Job) -> Request:
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


def _next_only(job: Job) -> bool:
    return isinstance(job.asked, Line) and job.asked.next_only
