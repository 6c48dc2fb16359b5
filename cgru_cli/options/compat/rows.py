"""What a row of a program's table of options says: spellings, values, default, meaning here."""

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
class Without:
    """An option that is understood and cannot matter here; the reason is said once."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """An option that asks for what there is not here; the reason is the error."""

    reason: str


@dataclass(frozen=True)
class Checked:
    """What a command line says of the model, as `dim-emb`: compared with the model itself."""

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
Conversion = Callable[[tuple[str, ...]], "Values | Without | Refused | Checked"]


@dataclass(frozen=True)
class Option:
    """An option of this package: its field, and how the values are converted, if they are.

    A conversion is given the values as typed (a switch's is "true" or "false") and may also find
    that they are without effect or refused. An alias sets several fields, of which others that are
    given themselves keep their values.
    """

    field: str
    convert: Conversion | None = None
    alias: bool = False


Meaning = Option | Checked | Without | Refused | Special


@dataclass(frozen=True)
class Row:
    """One option of a program.

    default: as the program states it, None where it has none; implied: the values that stand for
    the option given without any; paths: whether its values are names of files; value_name: what
    stands for them in messages; only_first: whether of several only the first is a file's name.
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

    def understand(self, values: Sequence[str]) -> Values | Without | Refused | Checked | Special:
        """What these values, as typed, mean here."""
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
    """What a switch is given. Raises ValueError for what is neither true nor false."""
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


def without(flags: str, takes: Takes, default: Any, reason: str, implied: str = "") -> Row:
    """An option that cannot matter here."""
    return Row(_split(flags), takes, default, Without(reason), _split(implied))


def refused(flags: str, takes: Takes, default: Any, reason: str, implied: str = "") -> Row:
    """An option that asks for what there is not here."""
    return Row(_split(flags), takes, default, Refused(reason), _split(implied))


def to(field: str, convert: Conversion) -> Option:
    """An option here whose values are converted."""
    return Option(field, convert)


def joined(field: str) -> Option:
    """Several values that are one text here."""
    return Option(field, lambda values: {field: " ".join(values)})


def unless(field: str) -> Option:
    """A switch that is here the other way round."""
    return Option(field, lambda values: {field: not is_true(values)})


def only(field: str, known: Mapping[str, Any], reason: str) -> Option:
    """One of some values, each of which is another one here; others are refused."""

    def convert(values: tuple[str, ...]) -> Values | Refused:
        value = values[-1]
        return {field: known[value]} if value in known else Refused(f"{value}: {reason}")

    return Option(field, convert)
