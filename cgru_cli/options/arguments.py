"""Command lines of Nematus and Marian, with several values after one flag, as click reads them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from .flags import Flag, statements


def spread_values(arguments: Sequence[str], options: type) -> list[str]:
    """Rewrite `-m A B` to `-m A -m B`, and `-n` without a value to `-n IMPLIED`.

    Marian and Nematus take several values after one flag; so do the scripts written for them.
    Raises UsageError where another option stands in the place of a value, and for two names of one
    option with two values.
    """
    by_flag: dict[str, Flag] = {}
    for stated, _ in statements(options).values():
        by_flag |= dict.fromkeys((*stated.flags, *stated.aliases), stated)
    spread_out: list[str] = []
    pending = list(arguments)
    used: dict[Flag, tuple[str, str]] = {}
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            return [*spread_out, argument, *pending]
        given = by_flag.get(argument)
        if given is None or given.is_switch:
            spread_out.append(argument)
            continue
        if given.implied is None:
            _check_value(argument, given, pending, by_flag)
        if not given.many and pending:
            first, value = used.setdefault(given, (argument, pending[0]))
            if first != argument and value != pending[0]:  # Nematus' -k 5 -b 80, for one
                raise UsageError(
                    f"{first} {value} and {argument} {pending[0]} are the same option: {given.help}"
                )
        if not given.many and given.implied is None:
            spread_out += [argument, *pending[:1]]
            del pending[:1]
            continue
        values: list[str] = []
        while pending and not _is_flag(pending[0]) and (given.many or not values):
            values.append(pending.pop(0))
        if given.many and given.implied is not None:  # one value of several words
            spread_out += [argument, " ".join(values) or str(given.implied)]
        elif values:
            for value in values:
                spread_out += [argument, value]
        else:
            spread_out += [argument, str(given.implied)]
    return spread_out


def _check_value(argument: str, given: Flag, rest: Sequence[str], known: dict[str, Flag]) -> None:
    """Raises UsageError where no value follows an option that needs one."""
    what = given.metavar or "VALUE"
    if not rest:
        raise UsageError(f"{argument} lacks its value: {argument} {what}")
    if rest[0] in known or (given.many and _is_flag(rest[0])):
        raise UsageError(
            f"{argument} lacks its value: {argument} {what} is expected, and {rest[0]} is an option"
        )


def _is_flag(argument: str) -> bool:
    """Whether an argument is an option rather than a value; -0.5 and - are values."""
    if not argument.startswith("-") or argument == "-":
        return False
    try:
        float(argument)
    except ValueError:
        return True
    return False
