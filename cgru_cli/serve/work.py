"""The engine's work: requests and their lines, and the interface that a computation uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol

from .. import Hypothesis, Translation
from ..errors import CgruError, reason
from ..system.terminal import tell
from .problems import Refusal
from .served_model import SearchOptions, ServedModel

# The unit of cost is a row-step: extending a hypothesis by a word, or encoding a source word.
MOST_WORK = 1500  # maximum cost of a joining batch, and of a step; a longer line runs by itself
MOST_WORK_LARGE = 500  # likewise for large requests, which may keep all of several threads busy
WORDS_PER_ROW = 50  # words of a source whose attention costs as much as a row-step without them
FIXED_WORK = 32  # row-steps that take as long as the fixed part of a step
MOST_CHARACTERS = 20_000  # maximum to split into words before another request's turn
SMALL_REQUEST = 20_000  # characters times beam size of the largest request that is not large
LINE_CHARACTERS = 10  # added to the characters of each line


class Line(NamedTuple):
    """A line to translate.

    prefix: the beginning of its translation, as text or as the model's words. next_only: end the
    search one word after the prefix. required, avoided: phrases that its translation must contain,
    and must not contain. plain: whether the text has no marks, whatever the server's --markup.
    of_text: the number of the request's text that contains this line, if not the line's own number.
    """

    text: str
    prefix: str | Sequence[str] = ""
    next_only: bool = False
    required: Sequence[str | Sequence[str]] = ()
    avoided: Sequence[str] = ()
    plain: bool = False
    of_text: int | None = None

    @property
    def texts(self) -> list[str]:
        """Everything that the client sent for this line."""
        prefix = self.prefix if isinstance(self.prefix, str) else " ".join(self.prefix)
        return [self.text, prefix, *self.phrases]

    @property
    def phrases(self) -> list[str]:
        """The required phrases with all their alternatives, and the avoided phrases."""
        required = [[one] if isinstance(one, str) else one for one in self.required]
        return [*chain.from_iterable(required), *self.avoided]

    def field(self, number: int, place: int = 0) -> str:
        """The request's field that contains text `place` of `texts`; number: that of the line."""
        if self.avoided and place >= len(self.texts) - len(self.avoided):
            return "avoid"
        number = number if self.of_text is None else self.of_text
        return f"{('texts', 'prefixes', 'constraints')[min(place, 2)]}[{number}]"


class OnlyLine(Line):
    """The line of a request that has only one line."""

    def field(self, number: int, place: int = 0) -> str:
        """As for `Line`."""
        return "prefix" if place == 1 else "text"


class Pair(NamedTuple):
    """A translation to score."""

    source: str
    target: str

    @property
    def texts(self) -> list[str]:
        """Everything that the client sent for this line."""
        return [self.source, self.target]

    def field(self, number: int, place: int = 0) -> str:
        """As for `Line`."""
        return f"pairs[{number}]"


class Kind(NamedTuple):
    """The properties that lines must share to be computed together.

    settings: of the search; None for scoring. forced: whether translations have prefixes or
    constraints, which make steps slower. large: whether the requests are expensive; small requests
    must not share their long steps. alone: whether to compute one line at a time, after a failure.
    """

    model: ServedModel
    settings: SearchOptions | None
    forced: bool = False
    large: bool = False
    alone: bool = False

    def is_large(self, lines: Sequence[Line | Pair]) -> bool:
        """Whether a request with these lines is expensive, estimated before they are split."""
        rows = self.settings.rows if self.settings else 1
        return rows * sum(map(_characters, lines)) > SMALL_REQUEST

    def most_work(self, threads: int) -> int:
        """The maximum cost of a joining batch, and of a step; threads: those of the engine.

        A small request waits until one of the threads has finished its step.
        """
        return MOST_WORK_LARGE if self.large and threads > 1 else MOST_WORK


def _characters(line: Line | Pair) -> int:
    return LINE_CHARACTERS + sum(map(len, line.texts))


def work_of_row(words: int) -> float:
    """The cost, in row-steps, of another word of a hypothesis; words: of the source."""
    return 1 + words / WORDS_PER_ROW


# the lines of a text, and the function from their translations to the text's
Part = tuple[list[str], Callable[[Sequence[Translation]], Translation]]
Outcome = Translation | Hypothesis | CgruError  # a hypothesis: a scored pair
Deliver = Callable[[int, Outcome], None]


@dataclass(eq=False)
class Ticket:
    """A request in the engine.

    deliver: threads of the engine call it once for each line, in any order, with the line's number
    and outcome, but not after cancellation.
    """

    client: str
    kind: Kind
    deliver: Deliver
    cancelled: bool = False


@dataclass(eq=False)
class Job:
    """A line of a request."""

    ticket: Ticket
    number: int  # within the request, from 0
    asked: Line | Pair

    @property
    def characters(self) -> int:
        """The number of characters to read, plus a constant for each line."""
        return _characters(self.asked)

    def done(self, outcome: Outcome) -> None:
        """Deliver the outcome, unless the request was cancelled."""
        if not self.ticket.cancelled:
            self.ticket.deliver(self.number, outcome)

    def failed(self, error: Exception) -> None:
        """Deliver the outcome for an error; reports an internal error."""
        self.done(_failure(error))


def _failure(error: Exception) -> CgruError:
    """The outcome of a line for an error."""
    if isinstance(error, CgruError):
        return error
    if isinstance(error, MemoryError):
        return Refusal(
            "out_of_memory",
            "there is not enough memory for this line; shorten it, or use a smaller beam",
        )
    kind = type(error).__name__
    with contextlib.suppress(Exception):
        tell(f"internal error, {kind}: {reason(error)}; the server continues")
    return Refusal("internal_error", f"internal error, {kind}")


class WaitingLines(Protocol):
    """The waiting lines, as `Engine` shows them to a computation of one kind."""

    @property
    def threads(self) -> int: ...

    @property
    def workspace_share(self) -> float: ...

    def waiting(self, kind: Kind) -> tuple[int, bool]: ...

    def share(self, kind: Kind) -> int: ...

    def take(self, kind: Kind) -> Job | None: ...

    def crowded(self, kind: Kind) -> bool: ...
