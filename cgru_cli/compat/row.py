"""A row of a program's table of options: its names, its values, and its meaning in cgru."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Takes(Enum):
    """How many values an option takes."""

    SWITCH = "none"  # true or false, where the program's switches may have values
    OPTIONAL = "one or none"
    ONE = "one"
    MANY = "one or several"


@dataclass(frozen=True)
class NoEffect:
    """An option that is accepted and has no effect in cgru; a note gives the reason."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """An option that asks for something cgru does not have; the reason is the error message."""

    reason: str


@dataclass(frozen=True)
class Checked:
    """An option that describes the model, such as `dim-emb`: compared with the loaded model."""

    name: str


@dataclass(frozen=True)
class Alias:
    """Stands for other options of the program, a comma between them, unless they are given."""

    options: str


Values = dict[str, Any]  # by field of the options: text, a tuple of texts, or a bool
Conversion = Callable[[tuple[str, ...]], "Values | NoEffect | Refused"]


@dataclass(frozen=True)
class Option:
    """An option of cgru: its field, and the conversion of the values, if there is one.

    A conversion takes the values as typed ("true" or "false" of a switch); it may also say that
    they have no effect or are refused. A field that cgru does not have is replaced by the program's
    `settle` function.
    """

    field: str
    convert: Conversion | None = None


Meaning = Option | Checked | NoEffect | Refused | Alias


@dataclass(frozen=True)
class Row:
    """One option of a program.

    default: as typed, () where the program has none; implied: the values of the option given
    without any; paths: whether its values are paths (only_first: the first of several); value_name:
    the placeholder for its values in messages; earlier: whether only earlier versions have it.
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

    def is_path(self, place: int) -> bool:
        """Whether the value at this place, from 0, is the name of a file."""
        return self.paths and (place == 0 or not self.only_first)

    def typed(self, values: Sequence[str]) -> tuple[str, ...]:
        """The values, those implied where there are none."""
        return tuple(values) or self.implied or (("true",) if self.takes is Takes.SWITCH else ())

    def understand(self, values: Sequence[str]) -> Values | NoEffect | Refused | Checked | Alias:
        """The fields of cgru's options that these values, as typed, set, or why they set none.

        Raises ValueError for a value of a switch that is neither true nor false.
        """
        given = self.typed(values)
        is_switch = self.takes is Takes.SWITCH
        if is_switch:
            is_true(given)
        if not isinstance(self.meaning, Option):
            return self.meaning
        if self.meaning.convert is not None:
            return self.meaning.convert(given)
        if is_switch:
            return {self.meaning.field: is_true(given)}
        return {self.meaning.field: given if self.takes is Takes.MANY else given[-1]}


def as_typed(value: Any) -> tuple[str, ...]:
    """A value of a configuration file as it would be typed."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, list | tuple):
        return tuple(as_typed(one)[0] for one in value)
    return (f"{value:g}" if isinstance(value, float) else str(value),)


def is_true(values: Sequence[str]) -> bool:
    """The value of a switch. Raises ValueError for values other than true and false."""
    value = values[-1].lower()
    if value not in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        raise ValueError(f"{values[-1]!r} is neither true nor false")
    return value in ("true", "1", "on", "yes")
