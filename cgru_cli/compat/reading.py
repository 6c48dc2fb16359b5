"""Parse a command line as a program's own parser does: options with their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from ..errors import BadValue, LacksValue
from ..options.command_line import is_flag
from .fields import TypedOption
from .row import Row, Takes
from .tables import Table, own

_TRUTHS = ("true", "false", "on", "off", "yes", "no", "1", "0")
_Find = Callable[[str], tuple[Table, Row] | None]


def parse(
    table: Table, arguments: Sequence[str], options: type
) -> tuple[list[TypedOption], list[str], list[str]]:
    """The options, the positional arguments and the unknown options of a command line.

    They are parsed as a program does, but cgru's options are accepted too. Raises UsageError for an
    option without its value.
    """
    parsed: list[TypedOption] = []
    positional: list[str] = []
    unknown: list[str] = []
    pending = list(arguments)
    find = functools.partial(_find, table, own(options))
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            positional += pending
            break
        if not is_flag(argument):
            positional.append(argument)
            continue
        parsed += _options_in(argument, pending, find, unknown)
    return parsed, positional, unknown


def _find(table: Table, ours: Table, flag: str) -> tuple[Table, Row] | None:
    """The table and the row of a flag as typed; abbreviated flags of the program come last."""
    rows = ((table, table.exact(flag)), (ours, ours.row(flag)), (table, table.row(flag)))
    return next(((owner, row) for owner, row in rows if row), None)


def _options_in(
    argument: str, pending: list[str], find: _Find, unknown: list[str]
) -> Iterator[TypedOption]:
    """The option in an argument, or its bundled short options, with their values."""
    name, equals, attached = argument.partition("=")
    if known := find(name):
        yield _with_values(*known, name, [attached] if equals else [], pending)
        return
    while len(argument) > 1 and not argument.startswith("--"):  # -n1, or -vn 1
        flag, rest = argument[:2], argument[2:]
        if not (known := find(flag)):
            break
        table, row = known
        is_value = table.like_marian and rest.lower() in _TRUTHS
        if not rest or row.takes is not Takes.SWITCH or is_value:
            yield _with_values(table, row, flag, [rest.removeprefix("=")] if rest else [], pending)
            return
        yield TypedOption(row, flag, [])
        argument = f"-{rest}"
    unknown.append(argument)


def _with_values(
    table: Table, row: Row, flag: str, values: list[str], pending: list[str]
) -> TypedOption:
    """An option with its values, attached or as the next arguments.

    Raises UsageError for a missing value, and for a switch with a value.
    """
    following = pending[0] if pending else ""
    if row.takes is Takes.SWITCH:
        if values and not table.like_marian:
            raise BadValue(f"{flag} takes no value")
        if not values and table.like_marian and following.lower() in _TRUTHS:
            values = [pending.pop(0)]
        if not values and table.program == "marian" and following and not is_flag(following):
            raise BadValue(f"{flag} {following}: true or false is expected")
        return TypedOption(row, flag, values)
    while pending and (not values or row.takes is Takes.MANY) and not is_flag(pending[0]):
        values.append(pending.pop(0))
    # the value may be options of another program: --sentencepiece-options --threads=1
    if not values and row.takes is Takes.ONE and set("= ") & set(following):
        values = [pending.pop(0)]
    if not values and not row.implied:
        what = f" is expected, and {following} is an option" if following else ""
        raise LacksValue(f"{flag} lacks its value: {flag} {row.value_name}{what}")
    return TypedOption(row, flag, values, table.like_marian)
