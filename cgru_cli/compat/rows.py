"""Parse rows of a program's table of options from lines as in the program's help.

A row is written like a line of the program's help, `-b --beam-size N = 12`: names, a placeholder,
and the default. `N...` takes several values; `[1]` one value or none, 1 by default; a switch has no
placeholder; FILE is a path, in `FILE N...` only the first value; `(earlier)` at the end marks an
option that the last version of the program lacks. Lines for options without effect, or refused
options, end with the reason: `--data-threads N = 8: one thread reads in advance`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .row import Meaning, NoEffect, Option, Refused, Row, Takes, Values, is_true


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
