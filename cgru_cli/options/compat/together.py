"""The options of a command line by field, before and while they are brought together."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import UsageError


@dataclass
class Together:
    """Values by field, as typed; some fields are another program's and have to be replaced.

    given: fields that a command line or a configuration file sets; the others are defaults of the
    program; typed: those of the command line. notes: options without effect and why, in the order
    in which they were found; flags: how options were spelled, by field; own: the fields that are
    options of this package.
    """

    program: str | None
    command: str
    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    notes: list[tuple[str, str]] = field(default_factory=list)
    flags: Mapping[str, str] = field(default_factory=dict)
    own: Container[str] = ()

    def is_given(self, name: str) -> bool:
        """Whether somebody has set a field, rather than its being the program's default."""
        return name in self.given

    def take(self, name: str) -> Any:
        """A field's value, which nobody needs after this; None if it has none."""
        return self.values.pop(name, None)

    def number(self, name: str) -> float:
        """A field's value, the last of several; 0 without. Raises UsageError as `numbers` does."""
        return (self.numbers(name) or (0.0,))[-1]

    def numbers(self, name: str) -> tuple[float, ...]:
        """All values of a field.

        What is no number is told by the option's own check, and there is none here; where another
        program alone has the option, UsageError names it.
        """
        value = self.values.get(name, ())
        numbers = []
        for given in value if isinstance(value, (list, tuple)) else (value,):
            try:
                numbers.append(float(given))
            except (TypeError, ValueError):
                numbers.append(math.nan)
            if not math.isfinite(numbers[-1]):
                if name in self.own:
                    return ()
                flag = self.flags.get(name, "--" + name.replace("_", "-"))
                raise UsageError(f"{flag} {given}: a number is expected")
        return tuple(numbers)

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
