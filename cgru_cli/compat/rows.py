"""A row of a program's table of options: spellings, values, default, and its meaning in cgru."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Takes(Enum):
    """How many values an option takes, by its program's parser."""

    NOTHING = "no value"
    BOOLEAN = "true or false, or no value"
    OPTIONAL = "a value or none"
    ONE = "a value"
    TWO = "two values"
    MANY = "one value or several"


@dataclass(frozen=True)
class NoEffect:
    """An option that is accepted and has no effect in cgru; the reason is told once."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """An option that asks for something cgru does not have; the reason is the error message."""

    reason: str


@dataclass(frozen=True)
class Checked:
    """An option that describes the model, as `dim-emb`: compared with the model that is loaded."""

    name: str


class Special(Enum):
    """Options that say how the others are read."""

    CONFIG = "configuration files"
    DUMP_CONFIG = "prints the options in force and ends"
    INTERPOLATE = "${VAR} in paths is the environment's"
    RELATIVE = "paths in a configuration file are relative to its folder"
    HELP = "help"
    VERSION = "version"


Values = Mapping[str, Any]  # by field of the options: text, a tuple of texts, or a bool
Conversion = Callable[[tuple[str, ...]], "Values | NoEffect | Refused | Checked"]


@dataclass(frozen=True)
class Option:
    """An option of this package: its field, and the conversion of its values, if there is one.

    A conversion takes the values as typed ("true" or "false" of a switch) and may also return that
    they have no effect or are refused. An alias sets several fields; of these, options that are
    given themselves keep their values.
    """

    field: str
    convert: Conversion | None = None
    alias: bool = False


Meaning = Option | Checked | NoEffect | Refused | Special


@dataclass(frozen=True)
class Row:
    """One option of a program.

    default: the program's, None where it has none; implied: the values of the option given without
    any; paths: whether its values are names of files; value_name: the placeholder for its values in
    messages; only_first: whether only the first of several values is a file's name.
    """

    flags: tuple[str, ...]
    takes: Takes
    default: Any
    meaning: Meaning
    implied: tuple[str, ...] = ()
    paths: bool = False
    value_name: str = "VALUE"
    only_first: bool = False

    @property
    def name(self) -> str:
        """The first long spelling, without dashes: the key in configuration files."""
        long = next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])
        return long.lstrip("-")

    def is_path(self, place: int) -> bool:
        """Whether the value at this place, from 0, is the name of a file."""
        return self.paths and (place == 0 or not self.only_first)

    @property
    def default_values(self) -> tuple[str, ...]:
        """The default as it would be typed."""
        return as_typed(self.default)

    def understand(self, values: Sequence[str]) -> Values | NoEffect | Refused | Checked | Special:
        """The fields of this package's options that these values, as typed, set; or why none."""
        given = tuple(values) or self.implied
        if self.takes in (Takes.NOTHING, Takes.BOOLEAN):
            given = given or ("true",)
        if not isinstance(self.meaning, Option):
            return self.meaning
        if self.meaning.convert is not None:
            return self.meaning.convert(given)
        if self.takes in (Takes.NOTHING, Takes.BOOLEAN):
            return {self.meaning.field: is_true(given)}
        many = self.takes in (Takes.TWO, Takes.MANY)
        return {self.meaning.field: given if many else given[-1]}


def as_typed(value: Any) -> tuple[str, ...]:
    """A value of a table or a configuration file as it would be typed."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, list | tuple):
        return tuple(as_typed(one)[0] for one in value)
    return (f"{value:g}" if isinstance(value, float) else str(value),)


def is_true(values: Sequence[str]) -> bool:
    """The value of a switch. Raises ValueError for what is neither true nor false."""
    value = values[-1].lower()
    if value not in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        raise ValueError(f"{values[-1]!r} is neither true nor false")
    return value in ("true", "1", "on", "yes")


def _split(flags: str) -> tuple[str, ...]:
    return tuple(flags.split())


def _meaning(meaning: str | Meaning) -> Meaning:
    return Option(meaning) if isinstance(meaning, str) else meaning


def switch(flags: str, meaning: str | Meaning, default: bool = False) -> Row:
    """A flag of argparse or Boost, which takes no value."""
    return Row(_split(flags), Takes.NOTHING, default, _meaning(meaning))


def boolean(flags: str, meaning: str | Meaning, default: bool = False) -> Row:
    """A switch of Marian's, which may be given true or false."""
    return Row(_split(flags), Takes.BOOLEAN, default, _meaning(meaning))


def one(flags: str, default: Any, meaning: str | Meaning, *, paths: bool = False) -> Row:
    """An option that needs one value."""
    return Row(_split(flags), Takes.ONE, default, _meaning(meaning), paths=paths)


def optional(
    flags: str, default: Any, implied: str, meaning: str | Meaning, *, paths: bool = False
) -> Row:
    """An option that takes a value or stands for one."""
    return Row(_split(flags), Takes.OPTIONAL, default, _meaning(meaning), (implied,), paths)


def two(flags: str, default: Any, meaning: str | Meaning, *, paths: bool = False) -> Row:
    """An option of exactly two values."""
    return Row(_split(flags), Takes.TWO, default, _meaning(meaning), paths=paths)


def many(
    flags: str,
    default: Any,
    meaning: str | Meaning,
    *,
    implied: str = "",
    paths: bool = False,
    only_first: bool = False,
) -> Row:
    """An option of several values; with implied ones, of none too."""
    return Row(
        _split(flags), Takes.MANY, default, _meaning(meaning), _split(implied), paths,
        only_first=only_first,
    )  # fmt: skip


def no_effect(flags: str, takes: Takes, default: Any, reason: str, implied: str = "") -> Row:
    """An option that has no effect in cgru."""
    return Row(_split(flags), takes, default, NoEffect(reason), _split(implied))


def refused(flags: str, takes: Takes, default: Any, reason: str, implied: str = "") -> Row:
    """An option that asks for something cgru does not have."""
    return Row(_split(flags), takes, default, Refused(reason), _split(implied))


def converted(field: str, convert: Conversion) -> Option:
    """An option of this package whose values are converted."""
    return Option(field, convert)


def joined(field: str) -> Option:
    """Several values that are one text in this package."""
    return Option(field, lambda values: {field: " ".join(values)})


def always(option: str) -> Option:
    """A switch for what is done in any case, with or without it."""
    return Option(option, lambda values: {})


def negated(field: str) -> Option:
    """A switch that has the opposite meaning in this package."""
    return Option(field, lambda values: {field: not is_true(values)})


def one_of(field: str, known: Mapping[str, Any], reason: str) -> Option:
    """A choice: each known value and this package's word for it; other values are refused."""

    def convert(values: tuple[str, ...]) -> Values | Refused:
        value = values[-1]
        return {field: known[value]} if value in known else Refused(f"{value}: {reason}")

    return Option(field, convert)
