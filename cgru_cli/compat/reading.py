"""A command line parsed as a program's own parser does it: options with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import UsageError
from ..options.command_line import is_flag
from .rows import Row, Takes
from .tables import Table, own, table

_TRUTHS = ("true", "false", "on", "off", "yes", "no", "1", "0")


class Given(NamedTuple):
    """An option as it stands on a command line."""

    row: Row
    flag: str  # as typed
    values: list[str]
    appends: bool = False  # whether values are added to those given before


@dataclass
class Arguments:
    """A parsed command line: options, positional arguments, and unknown options."""

    given: list[Given] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def parse(program: str, command: str, arguments: Sequence[str], options: type) -> Arguments:
    """Parse a command line as a program does. Raises UsageError for an option without its value."""
    parsed = Arguments()
    pending = list(arguments)
    row_of = _find_row(program, command, options)
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            parsed.positional += pending
            break
        if not is_flag(argument):
            parsed.positional.append(argument)
            continue
        parsed.given += _options_in(argument, pending, row_of, parsed.unknown)
    return parsed


FindRow = Callable[[str], "tuple[Table, Row] | None"]


def _find_row(program: str, command: str, options: type) -> FindRow:
    """Rows of one program, and this package's for options that it does not have."""
    theirs = table(program, command) or Table(program, ())
    mine = own(options)

    def row(flag: str) -> tuple[Table, Row] | None:
        own_row = mine.row(flag) or mine.row(flag.replace("_", "-"))
        if own_row is not None and flag not in theirs.flags:
            return mine, own_row
        row = theirs.row(flag)
        return (theirs, row) if row else None

    return row


def _options_in(
    argument: str, pending: list[str], row_of: FindRow, unknown: list[str]
) -> Iterator[Given]:
    """The option that an argument is, or the short ones that it bundles, with their values."""
    name, equals, attached = argument.partition("=")
    known = row_of(name)
    if known is not None:
        yield _with_values(*known, name, [attached] if equals else [], pending)
        return
    while len(argument) > 1 and not argument.startswith("--"):  # -n1, or -vn 1
        flag, rest = argument[:2], argument[2:]
        known = row_of(flag)
        if known is None:
            break
        row = known[1]
        bundled = row.takes is Takes.NOTHING or _is_bundle(row, rest)
        if not rest or not bundled:
            yield _with_values(*known, flag, [rest.removeprefix("=")] if rest else [], pending)
            return
        yield Given(row, flag, [])
        argument = f"-{rest}"
    unknown.append(argument)


def _with_values(
    owner: Table, row: Row, flag: str, attached: list[str], pending: list[str]
) -> Given:  # fmt: skip
    return Given(row, flag, _values(row, flag, attached, pending), owner.appends)


def _is_bundle(row: Row, rest: str) -> bool:
    """Whether what follows a switch's letter is another short option."""
    return row.takes is Takes.BOOLEAN and rest.lower() not in _TRUTHS


def _values(row: Row, flag: str, attached: list[str], pending: list[str]) -> list[str]:
    """The values of an option, taken from what follows it.

    Raises UsageError where one is needed and none follows.
    """
    if row.takes is Takes.NOTHING:
        if attached:
            raise UsageError(f"{flag} takes no value")
        return []
    if row.takes is Takes.BOOLEAN:
        if not attached and pending and pending[0].lower() in _TRUTHS:
            return [pending.pop(0)]
        return attached
    values = list(attached)
    most = {Takes.MANY: len(pending) + 1, Takes.TWO: 2}.get(row.takes, 1)
    while pending and len(values) < most and not is_flag(pending[0]):
        values.append(pending.pop(0))
    if not values and row.takes is Takes.ONE and pending and _is_handed_on(pending[0]):
        return [pending.pop(0)]
    if row.takes is Takes.TWO and len(values) < 2:
        raise UsageError(f"{flag} needs two values")
    if not values and not row.implied and row.takes is not Takes.OPTIONAL:
        raise UsageError(_lacking(row, flag, pending[0] if pending else ""))
    return values


def _lacking(row: Row, flag: str, following: str) -> str:
    what = f" is expected, and {following} is an option" if following else ""
    return f"{flag} lacks its value: {flag} {row.value_name}{what}"


def _is_handed_on(argument: str) -> bool:
    """Whether an argument is options of another program: --sentencepiece-options --threads=1."""
    return "=" in argument or " " in argument
