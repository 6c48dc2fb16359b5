"""The options of a command line by field, before and while they are brought together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Together:
    """Values by field, as typed; some fields are another program's and have to be replaced.

    given: fields that a command line or a configuration file sets; the others are defaults of the
    program; typed: those of the command line. notes: options without effect and why, in the order
    in which they were found.
    """

    program: str | None
    command: str
    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def is_given(self, name: str) -> bool:
        """Whether somebody has set a field, rather than its being the program's default."""
        return name in self.given

    def take(self, name: str) -> Any:
        """A field's value, which nobody needs after this; None if it has none."""
        return self.values.pop(name, None)

    def drop_default(self, name: str) -> None:
        """Leave a field to this package's default, unless it was set."""
        if name not in self.given:
            self.values.pop(name, None)

    def note(self, flag: str, reason: str) -> None:
        """Say of an option that it is without effect."""
        if (flag, reason) not in self.notes:
            self.notes.append((flag, reason))


def told(notes: list[tuple[str, str]]) -> str:
    """One line for all options without effect: those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for flag, reason in notes:
        by_reason.setdefault(reason, []).append(flag)
    parts = [f"{', '.join(dict.fromkeys(flags))} ({reason})" for reason, flags in by_reason.items()]
    return f"without effect here: {'; '.join(parts)}"
