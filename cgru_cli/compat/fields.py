"""The fields that a program's options set, while they become options of cgru."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import CgruError, UsageError
from .rows import Checked, NoEffect, Option, Refused, Row, Special, Takes, is_true


class Given(NamedTuple):
    """An option as it stands in a command line or a file."""

    row: Row
    origin: str  # as typed, or file and key
    values: list[str]
    appends: bool = False  # whether values are added to those given before


@dataclass
class Fields:
    """Values by field, as typed; fields that cgru does not have are replaced.

    given: fields that the command line or a file sets, where the others have the program's
    defaults; typed: fields that the command line sets; origins: what set a field; checked: what is
    said of the model, by Marian's names; notes: options without effect and the reasons; aliased:
    fields whose value an alias gave.
    """

    program: str | None
    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    origins: dict[str, str] = field(default_factory=dict)
    checked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    aliased: set[str] = field(default_factory=set)
    interpolate: bool = False

    def add(self, options: Iterable[Given], *, from_file: bool = False) -> None:
        """Add options. Raises UsageError (CgruError, of a file) for what cannot be honoured."""
        error = CgruError if from_file else UsageError
        for one in options:
            row, origin, values, _ = one
            try:
                meant = row.understand(values)
                asked = is_true(values) if values and row.takes is Takes.SWITCH else None
            except ValueError as wrong:
                raise error(f"{origin}: {wrong}") from None
            if isinstance(meant, Refused | NoEffect):
                if (asked is not None or from_file) and tuple(values) == row.default:
                    continue  # it asks for nothing
                if asked is not None and str(asked).lower() == row.default[0]:
                    continue
            if isinstance(meant, Refused):
                shown = isinstance(row.meaning, Option) and values
                what = f"{origin} {values[-1]}" if shown else origin
                raise error(f"{what} cannot be honoured: {meant.reason}")
            if isinstance(meant, NoEffect):
                self.notes.append((origin, meant.reason))
            elif isinstance(meant, Checked):
                self.checked[meant.name] = tuple(values) or ("true",)
            elif not isinstance(meant, Special):
                for name, value in meant.items():
                    self._set(name, value, one)

    def _set(self, name: str, value: Any, given: Given) -> None:
        alias = isinstance(given.row.meaning, Option) and given.row.meaning.alias
        if alias and name in self.values and name not in self.aliased:
            return
        if not alias and name in self.aliased:
            self.aliased.remove(name)
            del self.values[name]
        if alias:
            self.aliased.add(name)
        before = self.values.get(name)
        if before is not None and isinstance(value, tuple) and (given.appends or name == "freeze"):
            value = (*before, *value)
        elif name == "after" and before is not None and self.program == "marian":
            value = f"{before},{value}"
        elif before not in (None, value) and self.origins[name] != given.origin:
            raise UsageError(
                f"{self.origins[name]} {before} and {given.origin} {value} are the same option"
            )
        self.values[name] = value
        self.origins[name] = given.origin

    def override(self, later: Fields) -> None:
        """Let the options of a later file, or of the command line, override these."""
        self.program = later.program
        self.interpolate |= later.interpolate
        self.values |= later.values
        self.checked |= later.checked
        self.notes += later.notes
        self.origins |= later.origins

    def is_given(self, name: str) -> bool:
        """Whether a field was set by the user, rather than by the program's default."""
        return name in self.given

    def take(self, name: str) -> Any:
        """Remove a field and return its value; None if it has none."""
        return self.values.pop(name, None)

    def number(self, name: str) -> float:
        """A field's number, the last of several; 0 if it has none. Raises as `numbers` does."""
        return (self.numbers(name) or (0.0,))[-1]

    def whole(self, name: str) -> int:
        """Remove a field and return its whole number; 0 if it has none."""
        number = int(self.number(name))
        self.take(name)
        return number

    def numbers(self, name: str) -> tuple[float, ...]:
        """The numbers of a field, () if it has none. Raises UsageError for what is no number."""
        value = self.values.get(name, ())
        numbers = []
        for given in value if isinstance(value, (list, tuple)) else (value,):
            try:
                numbers.append(float(given))
            except (TypeError, ValueError):
                numbers.append(math.nan)
            if not math.isfinite(numbers[-1]):
                origin = self.origins.get(name, "--" + name.replace("_", "-"))
                raise UsageError(f"{origin} {given}: a number is expected")
        return tuple(numbers)

    def drop_default(self, name: str) -> None:
        """Leave a field to cgru's default, unless it was set."""
        if name not in self.given:
            self.values.pop(name, None)

    def note(self, origin: str, reason: str) -> None:
        """Say of an option that it is without effect."""
        self.notes.append((origin, reason))

    def replace(self, name: str, value: Any, *, by: str) -> None:
        """Set a field as the option of another field, which is removed, asks for."""
        self.take(by)
        self.values[name] = value
        if by in self.origins:
            self.origins[name] = self.origins[by]
        for fields in (self.given, self.typed):
            if by in fields:
                fields.add(name)

    @property
    def noted(self) -> str:
        """The line that lists options without effect, grouped by reason; "" if there are none."""
        by_reason: dict[str, list[str]] = {}
        for origin, reason in self.notes:
            by_reason.setdefault(reason, []).append(origin)
        parts = [f"{', '.join(dict.fromkeys(by))} ({reason})" for reason, by in by_reason.items()]
        return f"without effect here: {'; '.join(parts)}" if parts else ""
