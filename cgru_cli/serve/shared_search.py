"""A search that lines of all clients join while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from .. import PreparedLine, Translation
from .metrics import Metrics
from .problems import Refusal
from .served_model import SearchOptions, ServedModel
from .work import FIXED_WORK, MOST_CHARACTERS, Job, Kind, Line, WaitingLines, work_of_row

LASTS = 4096  # lines that may join a search, because its bookkeeping grows with each line
LASTS_IN_A_CROWD = 256  # lines that may join a large search while other kinds wait for its end
STEPS_BETWEEN = 9  # minimum number of steps before a few more lines join


class _Begun(NamedTuple):
    """A line in the search."""

    job: Job
    prepared: PreparedLine
    undo: Callable[[Sequence[Translation]], Translation]  # places the marks of the line

    @property
    def line(self) -> Line:
        """The line as the client sent it."""
        return cast(Line, self.job.asked)

    @property
    def length(self) -> int:
        """The number of source words, including EOS."""
        return len(self.prepared.source) + 1


class SharedSearch:
    """Searches lines of one kind, and takes more from the queue while it runs."""

    def __init__(self, kind: Kind, lines: WaitingLines, metrics: Metrics):
        """kind: a kind with settings."""
        self._kind, self._lines, self._metrics = kind, lines, metrics
        self._model: ServedModel = kind.model
        self._session = kind.model.session(cast(SearchOptions, kind.settings))
        self._max_tokens = max(1, int(self._session.max_words * lines.workspace_share))
        self._most_work = kind.most_work(lines.threads)
        self._most = 1 if kind.alone else kind.model.defaults.mini_batch
        self._begun = 0  # lines that have joined so far
        self._steps = 0  # since lines joined
        self._held: _Begun | None = None  # taken from the queue, but too long to join now
        self.live: dict[int, _Begun] = {}  # by their number in the search
        self.work = 0.0  # row-steps of the last `advance`

    @property
    def size(self) -> int:
        """The number of lines that were taken from the queue; any thread may ask."""
        return len(self.live) + (self._held is not None)

    @property
    def jobs(self) -> list[Job]:
        """The lines that were taken from the queue and have no outcome yet."""
        held = [self._held.job] if self._held else []
        return [begun.job for begun in self.live.values()] + held

    def advance(self) -> bool:
        """Let lines join, and search one step; returns False if there are no lines."""
        self.work = 0.0
        self._forget_cancelled()
        joined = self._open and self._join()
        if not self.live:
            return joined
        rows = self._session.rows
        self.work += FIXED_WORK + rows * work_of_row(_longest(self.live.values()))
        for number, outcome in self._session.step():
            begun = self.live.pop(number)
            if isinstance(outcome, PreparedLine):
                self._admit([begun._replace(prepared=outcome)])
            elif isinstance(outcome, Exception):
                begun.job.failed(outcome)
            else:
                self._finish(begun, outcome)
        return True

    def _finish(self, begun: _Begun, translation: Translation) -> None:
        try:
            translation = begun.undo([translation])
        except Exception as error:  # of this line only
            begun.job.failed(error)
            return
        self._metrics.translated(self._model.name, begun.length - 1, translation)
        begun.job.done(translation)

    def _forget_cancelled(self) -> None:
        """Drop the lines of cancelled requests."""
        gone = [number for number, begun in self.live.items() if begun.job.ticket.cancelled]
        if gone:
            self._session.give_up(gone)
        for number in gone:
            del self.live[number]
        if self._held and self._held.job.ticket.cancelled:
            self._held = None

    @property
    def _open(self) -> bool:
        """Whether more lines may join."""
        if self._held:
            return True
        in_a_crowd = LASTS_IN_A_CROWD if self._kind.large else 1
        return self._begun < in_a_crowd or (
            self._begun < LASTS and not self._lines.crowded(self._kind)
        )

    def _join(self) -> bool:
        """Let waiting lines join; returns whether any joined."""
        lines = list(self._joining(self._room()))
        if not lines:
            return False
        lines.sort(key=lambda begun: begun.length)  # to skip padding
        self._admit(lines)
        return True

    def _admit(self, lines: Sequence[_Begun]) -> None:
        """Add lines to the search."""
        for begun in lines:
            self.live[self._begun] = begun
            self._begun += 1
        self._metrics.batch(self._model.name, len(self.live))
        self.work += len(lines) * _longest(lines)
        self._session.admit([one.prepared for one in lines])

    def _room(self) -> int:
        """The number of lines that may join now.

        Encoding new lines takes about as long as a step. If more lines wait than there is room for,
        a whole batch joins once half of the previous batch is finished, as in `cgru translate`.
        Otherwise the waiting lines join if they are many compared to the search, or have waited
        long enough.
        """
        waiting, overdue = self._lines.waiting(self._kind)
        live = len(self.live)
        # a batch joins while up to half of the previous batch is live
        rows = self._most_work / 1.5 / work_of_row(_longest(self.live.values()))
        most = max(1, min(self._most, int(rows / self._session.beam_size)))
        self._steps += 1
        if not live or waiting + bool(self._held) > most - live:
            return most if 2 * live <= most else 0
        overdue = overdue or bool(self._held)
        joins = waiting >= live or (overdue and self._steps >= STEPS_BETWEEN)
        return most - live if joins else 0

    def _joining(self, room: int) -> Iterator[_Begun]:
        """The next lines of the queue, at most `room`, that fit into the memory together.

        The cost of a turn also limits how many lines are read, encoded and searched.
        """
        if not room:
            return
        self._steps = 0
        live = len(self.live)
        if self._held is None:
            room = min(room, self._lines.share(self._kind) - live)
        longest = _longest(self.live.values())
        longest_new = characters = 0
        for count in range(1, room + 1):
            while self._held is None:
                job = self._lines.take(self._kind) if characters < MOST_CHARACTERS else None
                if job is None:
                    return
                characters += job.characters
                self._held = self._begin(job)
            begun = self._held
            longest_new = max(longest_new, begun.length)
            padded = max(longest, longest_new)
            rows = (live + count) * self._session.beam_size * work_of_row(padded)
            too_much = (live + count) * padded > self._max_tokens or rows > self._most_work
            too_slow = count * longest_new > self._most_work
            if (too_much and live + count > 1) or (too_slow and count > 1):
                return
            self._held = None
            yield begun

    def _begin(self, job: Job) -> _Begun | None:
        """A line that needs a search; delivers the outcome of other lines, and returns None."""
        if job.ticket.cancelled:
            return None
        try:
            begun = self._read(job)
            if not begun.prepared.empty:
                return begun
            job.done(begun.undo([self._session.empty(begun.prepared)]))
        except Exception as error:  # of this line only
            job.failed(error)
        return None

    def _read(self, job: Job) -> _Begun:
        """The line in the form for the search. Raises CgruError if the model cannot read it."""
        line, session, longest = cast(Line, job.asked), self._session, self._model.longest
        markup = None if line.plain else self._model.markup
        (text,), undo = self._model.translator.filtered(line.text, markup=markup)
        prepared = session.read(
            text,
            job.number,
            prefix=line.prefix,
            constraints=line.required,
            avoid=line.avoided,
            more=1 if line.next_only else None,
        )

        def refused(problem: str, place: int) -> Refusal:
            return Refusal.of(line, job.number, "unreadable", problem, place)

        if not self._model.unk_replace and (unknown := session.unknown(prepared, line.prefix)):
            name = self._model.name
            raise refused(f"a prefix with {unknown[0]!r}, a word that {name} lacks", 1)
        limit = f"translations have at most {longest}"
        if prepared.needed > longest:
            message = f"the constraints take {prepared.needed} words, including EOS; {limit}"
            raise refused(message, 2)
        if len(prepared.prefix) > longest:
            raise refused(f"a prefix of {len(prepared.prefix)} words; {limit}", 1)
        return _Begun(job, prepared, undo)


def _longest(lines: Iterable[_Begun]) -> int:
    """The number of source words of the longest line, including EOS; 0 without lines."""
    return max((begun.length for begun in lines), default=0)
