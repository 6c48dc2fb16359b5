"""A command line parsed as a program's own parser does it: options with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import UsageError
from ..flags import Flag, statements
from .rows import NoEffect, Option, Row, Takes
from .tables import OWN, Table, candidates, meaning_of, own, table

_TRUTH_WORDS = ("true", "false", "on", "off", "yes", "no")
_TRUTHS = (*_TRUTH_WORDS, "1", "0")


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


def is_flag(argument: str) -> bool:
    """Whether an argument is an option rather than a value; -0.5 and - are values."""
    return argument.startswith("-") and argument != "-" and not _is_number(argument)


def _is_number(argument: str) -> bool:
    try:
        float(argument)
    except ValueError:
        return False
    return True


def parse(program: str | None, command: str, arguments: Sequence[str], options: type) -> Arguments:
    """Parse a command line as a program does; without one, by what all programs agree on.

    Raises UsageError for an option that lacks its value and, without a program, for one that means
    different things in different programs.
    """
    parsed = Arguments()
    pending = list(arguments)
    if program:
        row_of = _find_in_program(program, command, options)
    else:
        row_of = _find_in_all(command, options)
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


# The row of a flag: of the flag as typed, whether a value follows or is attached, and that value.
FindRow = Callable[[str, bool, str], "tuple[Table, Row] | None"]


def _find_in_program(program: str, command: str, options: type) -> FindRow:
    """Rows of one program, and this package's for options that it does not have."""
    theirs = table(program, command) or Table(program, ())
    mine = own(options)

    def row(flag: str, _has_value: bool, _value: str) -> tuple[Table, Row] | None:
        for owner in (theirs, mine) if flag in theirs.flags else (mine, theirs):
            if known := owner.row(flag):
                return owner, known
        return None

    return row


def _find_in_all(command: str, options: type) -> FindRow:
    """Rows on whose meaning all programs agree that have the flag.

    Of rows with and without a value, those fit that take what follows the flag. A long option of
    this package has this package's meaning, whatever it means in other programs.
    """

    def row(flag: str, has_value: bool, value: str) -> tuple[Table, Row] | None:
        known = candidates(flag, command, options)
        fitting = [one for one in known if _fits(one[1], has_value, value)] or known
        if not fitting:
            return None
        if fitting[0][0].program == OWN and flag.startswith("--"):
            return _row_for_value(flag, value if has_value else None, fitting, options)
        if len({meaning_of(one[1]) for one in fitting}) > 1:
            if not has_value and known[0][0].program == OWN and known[0] not in fitting:
                raise UsageError(
                    f"{_lacking(known[0][1], flag, value)}; or say whose command line this is: "
                    "--compat PROGRAM"
                )
            raise UsageError(_ambiguous(flag, fitting, options))
        for one in fitting:
            if one[1].takes is Takes.BOOLEAN and value.lower() in _TRUTHS:
                return one
        return fitting[0]

    return row


def _widest(known: Sequence[tuple[Table, Row]]) -> tuple[Table, Row]:
    """This package's row, or one that means the same and takes more values."""
    mine = known[0]
    if mine[1].takes is Takes.ONE:
        for one in known[1:]:
            if one[1].takes is Takes.MANY and meaning_of(one[1]) == meaning_of(mine[1]):
                return one
    return mine


def _row_for_value(
    flag: str, value: str | None, fitting: Sequence[tuple[Table, Row]], options: type
) -> tuple[Table, Row]:
    """This package's row, or one that means the same and alone knows the value.

    Raises UsageError for a value by which another program means something else.
    """
    mine = _widest(fitting)
    meaning = fitting[0][1].meaning
    if value is None or not isinstance(meaning, Option):
        return mine
    stated, _ = statements(options)[meaning.field]
    words = value.lower() in _TRUTH_WORDS if stated.is_number else not _is_number(value)
    if not words or _reads(stated, value):  # numbers have their bounds
        return mine
    for one in fitting[1:]:
        try:
            meant = one[1].understand([value])
        except ValueError:
            continue
        if isinstance(meant, NoEffect) or meant == {}:
            return one
        if not isinstance(meant, Mapping):
            continue
        if meaning.field not in meant:
            raise UsageError(
                f"{flag} {value}: {stated.expected} is expected, or {one[0].program}'s command "
                f"line: --compat {one[0].program}"
            )
        if _reads(stated, meant[meaning.field]):
            return one
    return mine


def _reads(flag: Flag, value: object) -> bool:
    try:
        flag.read(value)
    except ValueError:
        return False
    return True


def _fits(row: Row, has_value: bool, value: str) -> bool:
    if row.takes is Takes.NOTHING:
        return not has_value
    if row.takes is Takes.BOOLEAN:
        return not has_value or value.lower() in _TRUTHS
    return has_value or row.takes is Takes.OPTIONAL or bool(row.implied)


def _ambiguous(flag: str, known: Sequence[tuple[Table, Row]], options: type) -> str:
    """What each program means by a flag, and how to say which is meant."""
    named = {
        row.meaning.field: next(name for name in row.flags if name.startswith("--"))
        for row in own(options).rows
        if isinstance(row.meaning, Option)
    }
    programs: dict[str, list[str]] = {}
    for owner, row in known:
        if owner.program != OWN:
            meant = row.meaning.field if isinstance(row.meaning, Option) else ""
            programs.setdefault(named.get(meant, row.name), []).append(owner.program)
    said = [f"{' and '.join(by)}: {meant}" for meant, by in programs.items()]
    return (
        f"{flag} means different things ({'; '.join(said)}); write the long option, or say whose "
        "command line this is: --compat PROGRAM"
    )


def _options_in(
    argument: str, pending: list[str], row_of: FindRow, unknown: list[str]
) -> Iterator[Given]:
    """The option that an argument is, or the short ones that it bundles, with their values."""
    name, equals, attached = argument.partition("=")
    following = pending[0] if pending else ""
    free = bool(pending) and not is_flag(following)
    known = row_of(name, bool(equals) or free, attached if equals else following)
    if known is not None:
        yield _with_values(*known, name, [attached] if equals else [], pending)
        return
    while len(argument) > 1 and not argument.startswith("--"):  # -n1, or -vn 1
        flag, rest = argument[:2], argument[2:]
        known = row_of(flag, bool(rest) or free, rest or following)
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
