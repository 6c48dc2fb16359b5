"""Suggest corrections for options of other programs in a command line without --compat."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..options.command_line import is_flag
from ..options.flags import flag as flag_of
from ..options.flags import statements
from ..options.toolkits import named_here
from .reading import parse
from .row import Alias, Checked, NoEffect, Option, Refused, Row, Takes
from .tables import PROGRAMS, Table, table_of

OWNERS = {
    "nematus": "Nematus'",
    "nematus-tf": "Nematus-TF's",
    "marian": "Marian's",
    "amun": "amun's",
    "dl4mt": "DL4MT's",
}


def advice(message: str, unknown: str, command: str, words: Sequence[str], options: type) -> str:
    """An error message with a correction of the command line, or the program to name with --compat.

    message: the error if the line is cgru's; unknown: the option that cgru lacks, "" if there is
    none.
    """
    if here := named_here(unknown, options, words):
        return here
    for program in PROGRAMS:
        table = table_of(program, command)
        if table and table.positional:
            try:
                _, positional, others = parse(table, words, options)
            except UsageError:
                continue
            if len(positional) == len(table.positional) and not others:
                return (
                    f"{positional[0]}: unexpected argument; {len(table.positional)} "
                    f"arguments are {OWNERS[program]} command line: add --compat {program}"
                )
    if unknown:
        return _of_unknown(unknown, command, words, options) or message
    return message + _of_known(message, command, words, options)


def _of_unknown(typed: str, command: str, words: Sequence[str], options: type) -> str:
    """A hint about an option that cgru lacks; "" if no program has it."""
    said: dict[str, list[str]] = {}
    for program in PROGRAMS:
        table = table_of(program, command)
        row = table.row(typed) if table else None
        if table and row is not None:
            said.setdefault(_instead(table, row, typed, words, options), []).append(program)
    if not said:
        return ""
    if len(said) == 1:
        ((instead, programs),) = said.items()
        if " be honoured: " in instead:
            return f"{typed} {instead}"
        return f"{typed} is {OWNERS[programs[0]]}: {instead}add --compat {programs[0]}"
    each = (f"{OWNERS[by[0]]}: {text}".removesuffix(", or ") for text, by in said.items() if text)
    return f"{typed} means different things ({'; '.join(each)}); add --compat PROGRAM"


def _of_known(message: str, command: str, words: Sequence[str], options: type) -> str:
    """A hint that an option may be another program's; "" otherwise."""
    typed = message.partition(" ")[0]
    known = {
        name: field
        for field, (flag, _) in statements(options).items()
        for name in (*flag.flags, *flag.aliases)
    }
    if typed not in known or " are the same option" in message:
        return ""
    field = known[typed]
    is_number = statements(options)[field][0].is_number
    for program in PROGRAMS:
        table = table_of(program, command)
        row = (table.exact(typed) or table.key(typed.lstrip("-"))) if table else None
        if table is None or row is None:
            continue
        if " takes no value" in message:
            another = row.takes is Takes.SWITCH and table.like_marian
        elif " lacks its value" in message:
            another = row.takes in (Takes.SWITCH, Takes.OPTIONAL)
        else:
            another = not is_number and _means_another(row, _values(row, typed, words), field)
        if another:
            return f"; if the line is {OWNERS[program]}, add --compat {program}"
    return ""


def _means_another(row: Row, values: tuple[str, ...], field: str) -> bool:
    """Whether a program interprets these values of a field differently from cgru."""
    try:
        meant = row.understand(values) if values else Refused("")
    except (ValueError, IndexError):
        return False
    if isinstance(meant, Mapping):
        return meant.get(field) not in (values, values[-1])
    return not isinstance(meant, Refused)


def _instead(table: Table, row: Row, typed: str, words: Sequence[str], options: type) -> str:
    """The option of cgru to use instead, as `write --after 100u, or `."""
    values = _values(row, typed, words)
    try:
        meant = row.understand(values)
    except (ValueError, IndexError):
        return ""
    if isinstance(meant, Alias):
        parts = [one.understand(its) for one, its in table.stands_for(row)]
        meant = {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}
    if isinstance(meant, Refused):
        value = values[-1:] if isinstance(row.meaning, Option) else ()
        return " ".join([*value, f"cannot be honoured: {meant.reason}"])
    if isinstance(meant, NoEffect):
        return f"it has no effect here ({meant.reason}); leave it out, or "
    if isinstance(meant, Checked):
        described = f"{meant.name}={' '.join(values) or 'true'}"
        return f"write --model-is {shlex.quote(described)}, or "
    if meant == {}:
        return "leave it out, or "
    if not meant.keys() <= statements(options).keys():
        return ""
    written = [_written(flag_of(options, name), value) for name, value in meant.items()]
    shown = " ".join(filter(None, written))
    return f"write {shown}, or " if shown else "leave it out, or "


def _written(name: str, value: Any) -> str:
    """An option of cgru as typed on a command line; "" for a switch that is off."""
    if isinstance(value, bool):
        return name if value else ""
    values = value if isinstance(value, tuple) else (value,)
    return " ".join([name, *(shlex.quote(str(one)) for one in values)]) if values else ""


def _values(row: Row, typed: str, words: Sequence[str]) -> tuple[str, ...]:
    """The values that follow an option on the command line."""
    for place, word in enumerate(words):
        name, equals, attached = word.partition("=")
        if name == typed and equals:
            return (attached,)
        if name == typed and row.takes is not Takes.SWITCH:
            rest = list(words[place + 1 :])
            stop = next((i for i, one in enumerate(rest) if is_flag(one)), len(rest))
            return tuple(rest[: stop if row.takes is Takes.MANY else min(stop, 1)])
    return ()
