"""The tables of the documentation: every option of a program, its default, and both here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..flags import flag, shown_default, statements
from .command_line import default_of
from .rows import Checked, Refused, Row, Special, Without
from .tables import table


class Documented(NamedTuple):
    """One option of a program and what it is here."""

    flags: tuple[str, ...]
    default: str  # there, as typed
    here: str  # the option here, "" if there is none
    default_here: str
    remark: str


def documented(program: str, command: str, options: type) -> Iterator[Documented]:
    """Every option of a program's command; options: the dataclass of those here."""
    found = table(program, command)
    for row in found.rows if found else ():
        yield Documented(row.flags, " ".join(row.default_values), *_here(row, options))


def other_defaults(program: str, command: str, options: type) -> Iterator[Documented]:
    """The options whose default is another one there than here."""
    found = table(program, command)
    for row in found.rows if found else ():
        one = Documented(row.flags, " ".join(row.default_values), *_here(row, options))
        meant = default_of(row)
        stated = statements(options)
        if any(name in stated and not _same(stated[name], value) for name, value in meant.items()):
            yield one


def _same(stated: tuple, value: object) -> bool:
    """Whether a value, as typed, is the default of an option."""
    here, default = stated
    try:
        read = tuple(map(here.read, value)) if isinstance(value, tuple) else here.read(value)
    except ValueError:
        return False
    return read == default or (default is None and read in (0, ""))


def _here(row: Row, options: type) -> tuple[str, str, str]:
    meaning = row.meaning
    if isinstance(meaning, Without):
        return "", "", f"no effect: {meaning.reason}"
    if isinstance(meaning, Refused):
        return "", "", f"refused: {meaning.reason}"
    if isinstance(meaning, Checked):
        return "--model-is", "", "compared with the model"
    if isinstance(meaning, Special):
        return row.flags[-1], "", ""
    stated = statements(options)
    names = [name for name in stated if name in {meaning.field, *default_of(row)}]
    defaults = (shown_default(stated[name][1]) for name in names)
    here = ", ".join(flag(options, name) for name in names)
    return here, ", ".join(filter(None, defaults)), "" if here else "see the other options"
