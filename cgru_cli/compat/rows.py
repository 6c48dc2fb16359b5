"""A row of a program's table of options: its names, its values, its default, and its meaning here.

A table writes a row as a line of the program's help, `-b --beam-size N = 12`: names, a placeholder,
and the default. `N...` takes several values; `[1]` one or none, 1 by default; a switch has no
placeholder; FILE is a path; `(earlier)` at the end marks an option that the program's last version
lacks. Options without effect and those that are refused stand in lines with the reason:
`--data-threads N = 8: one thread reads ahead`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def row(text: str, meaning: str | Meaning, *, only_first: bool = False) -> Row:
    """A row from its line in the program's help; meaning: a field of the options, or a result."""
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
    return Row(
        flags,
        takes,
        tuple(default.split()) if takes is Takes.MANY else (default,) if default else (),
        Option(meaning) if isinstance(meaning, str) else meaning,
        implied,
        paths=placeholder.startswith("FILE"),
        only_first=only_first,
        earlier=text.endswith(" (earlier)"),
    )


def each(text: str) -> list[str]:
    """The parts of a text that has a comma between them."""
    return " ".join(text.split()).split(", ")


def rows(text: str) -> list[Row]:
    """Rows, a comma between them: `--dim-emb N = 512` has the field dim_emb of cgru's options.

    `--dropout-rnn P = 0 -> dropout_hidden` names another field.
    """
    found = []
    for one in each(text):
        head, _, field = one.partition(" -> ")
        bare = row(head, "")
        found.append(row(head, field or bare.name.replace("-", "_")))
    return found


def _by_reason(text: str) -> Iterator[tuple[str, str]]:
    """Each option and its reason, of lines `--one N = 0, --two: reason`.

    A line that ends with a comma or a colon continues.
    """
    for line in re.sub(r"(?<=[,:])\n\s*", " ", text.strip()).splitlines():
        options, _, reason = line.strip().partition(": ")
        for one in each(options):
            yield one, reason


def no_effect(text: str) -> list[Row]:
    """Options that have no effect in cgru, with the reasons."""
    return [row(one, NoEffect(reason)) for one, reason in _by_reason(text)]


def refused(text: str) -> list[Row]:
    """Options that ask for something cgru does not have, with the reasons."""
    return [row(one, Refused(reason)) for one, reason in _by_reason(text)]


def always(text: str) -> list[Row]:
    """Options for things that cgru always does."""
    found = []
    for one in each(text):
        bare = row(one, "")
        found.append(row(one, Option(bare.name.replace("-", "_"), lambda values: {})))
    return found


def switched(field: str, value: Any, **more: Any) -> Option:
    """A switch that gives a field this value, and others theirs."""
    return Option(field, lambda values: {field: value, **more} if is_true(values) else {})


def negated(field: str) -> Option:
    """A switch that has the opposite meaning here."""
    return Option(field, lambda values: {field: not is_true(values)})


def counts_eos(field: str) -> Option:
    """The greatest length of a sentence, where the program counts EOS as a word."""

    def convert(values: tuple[str, ...]) -> Values:
        if values[-1] == "1":
            raise ValueError(
                "1 leaves room for the end of the sentence only; 2 or more is expected"
            )
        words = values[-1]
        return {field: str(max(int(words) - 1, 0)) if words.isdecimal() else words}

    return Option(field, convert)


def one_of(field: str, known: Mapping[str, Any], reason: str) -> Option:
    """A choice: each known value and the word for it here; other values are refused."""

    def convert(values: tuple[str, ...]) -> Values | Refused:
        value = values[-1]
        return {field: known[value]} if value in known else Refused(f"{value}: {reason}")

    return Option(field, convert)
