"""Options that were given, on a command line or in a configuration file, as fields and values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import CgruError, UsageError
from .reading import Given
from .rows import Checked, NoEffect, Option, Refused, Special, Takes, is_true


class GivenFields:
    """Values by field of the options that were given.

    checked: what they say of the model, by Marian's names; notes: options without effect and the
    reasons; flags: the spelling of each field's option, or file and key.
    """

    def __init__(self, command: str, program: str | None):
        self.command, self.program, self.interpolate = command, program, False
        self.values: dict[str, Any] = {}
        self.checked: dict[str, tuple[str, ...]] = {}
        self.notes: list[tuple[str, str]] = []
        self.flags: dict[str, str] = {}
        self.aliased: set[str] = set()  # fields whose value an alias gave

    def fill(self, given: Iterable[Given], *, of_file: bool = False) -> None:
        """Add options. Raises UsageError (CgruError, of a file) for what cannot be honoured."""
        error = CgruError if of_file else UsageError
        for one in given:
            row, flag, values, _ = one
            try:
                meant = row.understand(values)
                asked = is_true(values) if values and row.takes is Takes.BOOLEAN else None
            except ValueError as wrong:
                raise error(f"{flag}: {wrong}") from None
            if isinstance(meant, Refused | NoEffect) and asked is not None and asked == row.default:
                continue  # it asks for nothing
            if isinstance(meant, Refused):
                shown = isinstance(row.meaning, Option) and values
                what = f"{flag} {values[-1]}" if shown else flag
                raise error(f"{what} cannot be honoured: {meant.reason}")
            if isinstance(meant, NoEffect):
                self.notes.append((flag, meant.reason))
            elif isinstance(meant, Checked):
                self.checked[meant.name] = tuple(values) or ("true",)
            elif not isinstance(meant, Special):
                for name, value in meant.items():
                    self._set(name, value, one)

    def take_over(self, later: GivenFields) -> None:
        """Let the options of a later file override these."""
        self.program = later.program
        self.interpolate |= later.interpolate
        self.values |= later.values
        self.checked |= later.checked
        self.notes += later.notes
        self.flags |= later.flags

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
        elif before not in (None, value) and self.flags[name] != given.flag:
            raise UsageError(
                f"{self.flags[name]} {before} and {given.flag} {value} are the same option"
            )
        self.values[name] = value
        self.flags[name] = given.flag
