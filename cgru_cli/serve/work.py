"""What the engine is given to do: requests, and their lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CgruError
from ..score.pair_scorer import ScoredPair
from ..translate.translator import Translation
from .served_model import ServedModel

if TYPE_CHECKING:
    from ..search.settings import SearchSettings


class TooLarge(CgruError):
    """The memory is not enough for a line, even alone."""


class Broken(CgruError):
    """A mistake of this program's."""


class Line(NamedTuple):
    """A line to translate.

    prefix: what its translation begins with: text, or words as the model has them. next_only: the
    search ends one word behind the prefix. required, avoided: phrases that its translation must
    have, and must not have.
    """

    text: str
    prefix: str | Sequence[str] = ""
    next_only: bool = False
    required: Sequence[str] = ()
    avoided: Sequence[str] = ()

    @property
    def texts(self) -> list[str]:
        """All that was sent of it."""
        prefix = self.prefix if isinstance(self.prefix, str) else " ".join(self.prefix)
        return [self.text, prefix, *self.required, *self.avoided]


class Pair(NamedTuple):
    """A translation to score."""

    source: str
    target: str

    @property
    def texts(self) -> list[str]:
        """All that was sent of it."""
        return [self.source, self.target]


class Kind(NamedTuple):
    """What lines have in common that may be computed together.

    settings: of the search; None where pairs are scored. forced: whether translations have
    beginnings or constraints, which make steps slower. alone: one line at a time, after a failure.
    """

    model: ServedModel
    settings: SearchSettings | None
    forced: bool = False
    alone: bool = False


Outcome = Translation | ScoredPair | CgruError
Deliver = Callable[[int, Outcome], None]


@dataclass(eq=False)
class Ticket:
    """A request in the engine: whose it is, and where its answers go.

    deliver: called by the engine's thread with each line's number and outcome, in any order, once
    a line, and no more once it is cancelled.
    """

    client: str
    kind: Kind
    deliver: Deliver
    cancelled: bool = False  # nobody waits for the answers any more


@dataclass(eq=False)
class Job:
    """A line of a request."""

    ticket: Ticket
    number: int  # within the request, from 0
    asked: Line | Pair

    def done(self, outcome: Outcome) -> None:
        """Hand over the outcome, if somebody waits for it."""
        if not self.ticket.cancelled:
            self.ticket.deliver(self.number, outcome)
