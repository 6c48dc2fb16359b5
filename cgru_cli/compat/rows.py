"""The rows of a program's table of options, and how to read them from lines of its help.

A row has an option's names, its values, and its meaning in cgru.

A row is written like a line of the program's help, `-b --beam-size N = 12`: names, a placeholder,
and the default. `N...` takes several values; `[1]` one value or none, 1 by default; a switch has no
placeholder; FILE is a path, in `FILE N...` only the first value; `(earlier)` at the end marks an
option that the last version of the program lacks. Lines for options without effect, or refused
options, end with the reason: `--data-threads N = 8: one thread reads in advance`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def row(text: str, meaning: Meaning | None = None) -> Row:
    """Parse a row from its line in the program's help.

    Without a meaning, the option sets the field of cgru's options with its name, or the field after
    an arrow: `--dropout-rnn P = 0 -> dropout_hidden`.
    """
    text, _, field = text.partition(" -> ")
    head, _, default = text.removesuffix(" (earlier)").partition(" = ")
    words = head.split(" ")
    flags = tuple(word for word in words if word.startswith("-"))
    placeholder = " ".join(words[len(flags) :])
    optional = re.fullmatch(r"\[(.*)\](\.\.\.)?", placeholder)
    implied = tuple(optional[1].split()) if optional else ()
    if not placeholder:
        takes, default = Takes.SWITCH, default or "false"
    elif placeholder.endswith("..."):
        takes = Takes.MANY
    else:
        takes = Takes.OPTIONAL if optional else Takes.ONE
    made = Row(
        flags,
        takes,
        tuple(default.split()) if takes is Takes.MANY else (default,) if default else (),
        meaning or Option(field),
        implied,
        paths=placeholder.startswith("FILE"),
        only_first=placeholder.startswith("FILE "),
        earlier=text.endswith(" (earlier)"),
    )
    return made if meaning or field else dataclasses.replace(made, meaning=Option(made.field))


def each(text: str) -> list[str]:
    """The comma-separated parts of a text."""
    return " ".join(text.split()).split(", ")


def rows(text: str) -> list[Row]:
    """Rows from comma-separated lines, without meanings."""
    return list(map(row, each(text)))


def _by_reason(text: str) -> Iterator[tuple[str, str]]:
    """Each option and its reason, from lines such as `--one N = 0, --two: reason`.

    A line that ends with a comma or a colon continues on the next line.
    """
    for line in re.sub(r"(?<=[,:])\n\s*", " ", text.strip()).splitlines():
        options, _, reason = line.strip().partition(": ")
        for one in each(options):
            yield one, reason


def no_effect(text: str) -> list[Row]:
    """Options that have no effect in cgru, with the reason."""
    return [row(one, NoEffect(reason)) for one, reason in _by_reason(text)]


def refused(text: str) -> list[Row]:
    """Options for features that cgru lacks, with the reason."""
    return [row(one, Refused(reason)) for one, reason in _by_reason(text)]


def always(text: str) -> list[Row]:
    """Options for behaviour that cgru always has."""
    return [
        dataclasses.replace(one, meaning=Option(one.field, lambda values: {})) for one in rows(text)
    ]


def switched(field: str, value: Any, **more: Any) -> Option:
    """A switch that sets a field to this value, and other fields to the values in `more`."""
    return Option(field, lambda values: {field: value, **more} if is_true(values) else {})


def computed(field: str, value: Callable[[str], Any]) -> Option:
    """An option that converts its last value; None has no effect."""

    def convert(values: tuple[str, ...]) -> Values:
        meant = value(values[-1])
        return {} if meant is None else {field: meant}

    return Option(field, convert)


def negated(field: str) -> Option:
    """A switch with the opposite meaning in cgru."""
    return Option(field, lambda values: {field: not is_true(values)})


def counts_eos(field: str) -> Option:
    """The maximum length of a sentence in a program that counts EOS as a word."""

    def convert(values: tuple[str, ...]) -> Values:
        words = values[-1]
        if words == "1":
            raise ValueError("1 leaves room only for the end of the sentence; give 2 or more")
        return {field: str(max(int(words) - 1, 0)) if words.isdecimal() else words}

    return Option(field, convert)


def one_of(field: str, known: Mapping[str, Any], reason: str) -> Option:
    """A choice: each known value with its name in cgru; other values are refused."""

    def convert(values: tuple[str, ...]) -> Values | Refused:
        value = values[-1]
        return {field: known[value]} if value in known else Refused(f"{value}: {reason}")

    return Option(field, convert)
