"""A row of a program's table of options: its names, its values, and its meaning in cgru."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Takes(Enum):
    """How many values an option takes."""

    SWITCH = "none"  # some programs accept true or false
    OPTIONAL = "one or none"
    ONE = "one"
    MANY = "one or several"


@dataclass(frozen=True)
class NoEffect:
    """An accepted option that has no effect in cgru; a note gives the reason."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """An option for a feature that cgru lacks; the reason is the error message."""

    reason: str


@dataclass(frozen=True)
class Checked:
    """An option that describes the model, such as `dim-emb`; the loaded model must agree."""

    name: str


@dataclass(frozen=True)
class Alias:
    """An option that sets other, comma-separated options of the program unless they are given."""

    options: str


Values = dict[str, Any]  # by field of cgru's options: a string, a tuple of strings, or a bool
Conversion = Callable[[tuple[str, ...]], "Values | NoEffect | Refused"]


@dataclass(frozen=True)
class Option:
    """A counterpart in cgru: the field of its options, and an optional conversion of the values.

    A conversion takes the values as typed ("true" or "false" for a switch), and may also return
    `NoEffect` or `Refused`. The program's `settle` function replaces fields that cgru lacks.
    """

    field: str
    convert: Conversion | None = None


Meaning = Option | Checked | NoEffect | Refused | Alias


@dataclass(frozen=True)
class Row:
    """One option of a program.

    default: as typed, () if the program has none; implied: the values if the option is given
    without values; paths: whether its values are paths (only_first: only the first value);
    value_name: the placeholder for its values in messages; earlier: whether only earlier versions
    have it.
    """

    flags: tuple[str, ...]
    takes: Takes
    default: tuple[str, ...]
    meaning: Meaning
    implied: tuple[str, ...] = ()
    paths: bool = False
    value_name: str = "VALUE"
    only_first: bool = False
    earlier: bool = False

    @property
    def name(self) -> str:
        """The first long name, without dashes: the key in configuration files."""
        long = next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])
        return long.lstrip("-")

    @property
    def field(self) -> str:
        """The name as a field of cgru's options."""
        return self.name.replace("-", "_")

    def is_path(self, place: int) -> bool:
        """Whether the value at this index is a path."""
        return self.paths and (place == 0 or not self.only_first)

    def typed(self, values: Sequence[str]) -> tuple[str, ...]:
        """The given values, or the implied values if none are given."""
        return tuple(values) or self.implied or (("true",) if self.takes is Takes.SWITCH else ())

    def understand(self, values: Sequence[str]) -> Values | NoEffect | Refused | Checked | Alias:
        """The fields of cgru's options that these values set, or the reason why they set no field.

        Raises ValueError for a switch whose value is neither true nor false.
        """
        typed = self.typed(values)
        is_switch = self.takes is Takes.SWITCH
        if is_switch:
            is_true(typed)
        if not isinstance(self.meaning, Option):
            return self.meaning
        if self.meaning.convert is not None:
            return self.meaning.convert(typed)
        if is_switch:
            return {self.meaning.field: is_true(typed)}
        return {self.meaning.field: typed if self.takes is Takes.MANY else typed[-1]}


def as_typed(value: Any) -> tuple[str, ...]:
    """A value of a configuration file, as typed on a command line."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, list | tuple):
        return tuple(as_typed(one)[0] for one in value)
    whole = isinstance(value, float) and value.is_integer()
    return (str(int(value) if whole else value),)


def is_true(values: Sequence[str]) -> bool:
    """The value of a switch. Raises ValueError for values other than true and false."""
    value = values[-1].lower()
    if value not in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        raise ValueError(f"{values[-1]!r} is neither true nor false")
    return value in ("true", "1", "on", "yes")
