"""The values of a command line's options by field, while another program's become this one's."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError


@dataclass
class OptionValues:
    """Values by field, as typed; fields of another program are replaced by this package's.

    given: fields that the command line or a configuration file sets, where the others have the
    program's defaults; typed: fields that the command line sets. notes: options without effect and
    the reasons, in the order of the command line; flags: the spelling of each field's option; own:
    the fields that are options of this package.
    """

    program: str | None
    command: str
    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    notes: list[tuple[str, str]] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    own: Container[str] = ()

    def is_given(self, name: str) -> bool:
        """Whether a field was set by the user, rather than by the program's default."""
        return name in self.given

    def take(self, name: str) -> Any:
        """Remove a field and return its value; None if it has none."""
        return self.values.pop(name, None)

    def number(self, name: str) -> float:
        """A field's number, the last of several; 0 if it has none. Raises as `numbers` does."""
        return (self.numbers(name) or (0.0,))[-1]

    def numbers(self, name: str) -> tuple[float, ...]:
        """The numbers of a field; () if one is no number and the option's own check will say so.

        Raises UsageError for what is no number in an option of another program, which has no check
        of its own.
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

    def replace(self, name: str, value: Any, *, by: str) -> None:
        """Set a field as the option of another field, which is taken away, asks for."""
        self.take(by)
        self.values[name] = value
        if by in self.flags:
            self.flags[name] = self.flags[by]
        for fields in (self.given, self.typed):
            if by in fields:
                fields.add(name)

    def drop_default(self, name: str) -> None:
        """Leave a field to this package's default, unless it was set."""
        if name not in self.given:
            self.values.pop(name, None)

    def note(self, flag: str, reason: str) -> None:
        """Say of an option that it is without effect."""
        if (flag, reason) not in self.notes:
            self.notes.append((flag, reason))


def note_of(notes: list[tuple[str, str]]) -> str:
    """The line that lists options without effect, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for flag, reason in notes:
        by_reason.setdefault(reason, []).append(flag)
    parts = [f"{', '.join(dict.fromkeys(flags))} ({reason})" for reason, flags in by_reason.items()]
    return f"without effect here: {'; '.join(parts)}"
