"""The values set by a program's options, while they are translated into options of cgru."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import BadValue, CgruError, UsageError
from ..options.command_line import Settings
from ..system.plain_numbers import is_number, plain_number
from .row import Alias, Checked, NoEffect, Refused, Row, Takes, is_true


class TypedOption(NamedTuple):
    """An option as typed in a command line or a file."""

    row: Row
    origin: str  # as typed, or file and key
    values: list[str]
    appends: bool = False  # whether the values are added to earlier values


def _plain(value: str) -> str | float:
    """A value to compare: 0.0 is the same number as 0."""
    return float(value) if is_number(value) else value


@dataclass
class Fields(Settings):
    """Option values by field, as typed; a `settle` function replaces fields that cgru lacks.

    program: from --compat, or the program that wrote a configuration file; checked: properties to
    compare with the model, by Marian's names; written: the options' values as typed, by the
    program's names.
    """

    native = False
    program: str | None = None
    checked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    written: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(
        self,
        options: Iterable[TypedOption],
        stands_for: Callable[[Row], Iterable[tuple[Row, list[str]]]],
        *,
        from_file: bool = False,
    ) -> None:
        """Add options. stands_for: the options that an alias sets, with their values.

        Raises UsageError (CgruError for a file) for unsupported options.
        """
        error, bad = (CgruError, CgruError) if from_file else (UsageError, BadValue)
        aliased: list[TypedOption] = []
        for one in options:
            row, origin, values, appends = one
            try:
                meant = row.understand(values)
            except ValueError as wrong:
                raise bad(f"{origin}: {wrong}") from None
            before = self.written.get(row.name, ()) if appends and row.takes is Takes.MANY else ()
            self.written[row.name] = (*before, *row.typed(values))
            if isinstance(meant, dict):
                for name, value in meant.items():
                    self._set(name, value, one)
                continue
            is_default = bool(row.default) and tuple(map(_plain, values)) == tuple(
                map(_plain, row.default)
            )
            if is_default and (from_file or isinstance(meant, Refused)):
                continue  # no effect: Marian writes every option into its files
            if isinstance(meant, Alias):
                if is_true(row.typed(values)):
                    aliased += (TypedOption(r, origin, v) for r, v in stands_for(row))
            elif isinstance(meant, Checked):
                self.checked[meant.name] = tuple(values) or ("true",)
            elif values and row.takes is Takes.SWITCH and is_true(values) == is_true(row.default):
                continue  # the default, without effect
            elif isinstance(meant, NoEffect):
                self.note(origin, meant.reason)
            elif isinstance(meant, Refused):
                shown = row.meaning is not meant and values
                what = f"{origin} {values[-1]}" if shown else origin
                raise (bad if shown else error)(f"{what} cannot be honoured: {meant.reason}")
        for one in aliased:
            meant = one.row.understand(one.values)
            if isinstance(meant, NoEffect):
                self.note(one.origin, meant.reason)
            for name, value in meant.items() if isinstance(meant, dict) else ():
                if name not in self.values:
                    self.values[name], self.origins[name] = value, one.origin

    def _set(self, name: str, value: Any, option: TypedOption) -> None:
        before = self.values.get(name)
        appends = option.appends or name in ("config", "freeze")
        if before is not None and isinstance(value, tuple) and appends:
            value = (*before, *value)
        elif name == "after" and before is not None and self.program == "marian":
            value = f"{before},{value}"
        elif isinstance(before, bool) and self.origins[name] != option.origin:
            value = value or before  # two switches with the same meaning in cgru
        elif before not in (None, value) and self.origins[name] != option.origin:
            raise UsageError(
                f"{self.origins[name]} {before} and {option.origin} {value} are the same option"
            )
        self.values[name] = value
        self.origins[name] = option.origin

    def override(self, later: Settings) -> None:
        """Let the options of a later file, or of the command line, override these."""
        super().override(later)
        if isinstance(later, Fields):
            self.program = later.program
            self.checked |= later.checked
            self.written |= later.written

    def take(self, name: str) -> Any:
        """Remove a field and return its value, None without a value."""
        return self.values.pop(name, None)

    def number(self, name: str) -> float:
        """A field's last number, 0 without numbers. Raises UsageError like `numbers`."""
        return (self.numbers(name) or (0.0,))[-1]

    def whole(self, name: str) -> int:
        """Remove a field and return its value as an integer, 0 without a value."""
        number = int(self.number(name))
        self.take(name)
        return number

    def numbers(self, name: str) -> tuple[float, ...]:
        """The numbers of a field, () without values. Raises UsageError for other values."""
        value = self.values.get(name, ())
        numbers = []
        for number in value if isinstance(value, (list, tuple)) else (value,):
            try:
                numbers.append(plain_number(float, str(number)))
            except ValueError:
                numbers.append(math.nan)
            if not math.isfinite(numbers[-1]):
                origin = self.origins.get(name, "--" + name.replace("_", "-"))
                raise BadValue(f"{origin} {number}: a number is expected")
        return tuple(numbers)

    def drop_default(self, name: str) -> None:
        """Use cgru's default for a field that was not given."""
        if name not in self.given:
            self.values.pop(name, None)

    def note(self, origin: str, reason: str) -> None:
        """Note that an option has no effect."""
        self.notes.append((origin, reason))

    def replace(self, name: str, value: Any, *, by: str) -> None:
        """Set a field instead of the field `by`, which is removed but passes on its origin."""
        self.take(by)
        self.values[name] = value
        if by in self.origins:
            self.origins[name] = self.origins[by]
        for fields in (self.given, self.typed):
            if by in fields:
                fields.add(name)
