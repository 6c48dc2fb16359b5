"""What the engine computes: requests and their lines, and what it offers to a computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..errors import CgruError
from ..score.pairs.pair_scorer import ScoredPair
from ..translate.results import Translation
from .served_model import ServedModel

if TYPE_CHECKING:
    from ..search.settings import SearchSettings


class Refusal(CgruError):
    """A request, or a line of one, that is not answered.

    status: the status code of HTTP; headers: of the response.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status, self.headers = status, headers


class Line(NamedTuple):
    """A line to translate.

    prefix: the beginning of its translation, as text or as the model's words. next_only: the search
    ends one word after the prefix. required, avoided: phrases that its translation must contain,
    and must not contain.
    """

    text: str
    prefix: str | Sequence[str] = ""
    next_only: bool = False
    required: Sequence[str] = ()
    avoided: Sequence[str] = ()

    @property
    def texts(self) -> list[str]:
        """Everything that the client sent for this line."""
        prefix = self.prefix if isinstance(self.prefix, str) else " ".join(self.prefix)
        return [self.text, prefix, *self.required, *self.avoided]


class Pair(NamedTuple):
    """A translation to score."""

    source: str
    target: str

    @property
    def texts(self) -> list[str]:
        """Everything that the client sent for this line."""
        return [self.source, self.target]


class Kind(NamedTuple):
    """What lines must have in common to be computed together.

    settings: of the search; None for scoring. forced: whether translations have prefixes or
    constraints, which make steps slower. alone: one line at a time, after a failure.
    """

    model: ServedModel
    settings: SearchSettings | None
    forced: bool = False
    alone: bool = False


Outcome = Translation | ScoredPair | CgruError
Deliver = Callable[[int, Outcome], None]


@dataclass(eq=False)
class Ticket:
    """A request in the engine.

    deliver: called by the engine's thread once for each line, in any order, with the line's number
    and outcome; not called after cancellation.
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

    def done(self, outcome: Outcome) -> None:
        """Deliver the outcome, unless the request was cancelled."""
        if not self.ticket.cancelled:
            self.ticket.deliver(self.number, outcome)


class Lines(Protocol):
    """Where a search or a scoring gets its lines: the engine's queue."""

    def waiting(self, kind: Kind) -> tuple[int, bool]:
        """The number of lines of a kind, and whether they have waited as long as they may."""

    def take(self, kind: Kind) -> Job | None:
        """Remove and return the next line of a kind, None if there is none."""

    def crowded(self) -> bool:
        """Whether lines of another kind wait until a running kind ends."""
