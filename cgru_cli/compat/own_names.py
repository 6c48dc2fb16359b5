"""Options under their program's names, as the program's --dump-config prints them."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import note
from ..system.plain_numbers import plain_number
from .row import Alias, Row, Takes, is_true
from .tables import Table

_OF_THE_LINE = ("help", "version", "config", "dump-config")
_REPLACED = ("task", "fp16-fallback-to-fp32")  # Marian writes the options that these set


def in_own_names(
    table: Table, written: Mapping[str, tuple[str, ...]], form: str
) -> dict[str, str | tuple[str, ...]]:
    """Options by name, with the values that the program would print.

    written: the options' values, as typed. form: only these options (minimal), these without
    aliases (expand), all options (full), or all options without aliases (saved).
    """
    written = dict(written)
    aliases = [row for row in table.rows if isinstance(row.meaning, Alias)]
    expands = form in ("expand", "saved")
    for row in aliases if expands else ():
        if is_true(written.pop(row.name, ("false",))):
            for one, its in table.stands_for(row):
                written.setdefault(one.name, one.typed(its))
    values: dict[str, str | tuple[str, ...]] = {"dump-config": ""} if form == "saved" else {}
    for row in table.rows:
        typed = written.pop(row.name, None)
        if typed is None and (row.earlier or form in ("minimal", "expand")):
            continue
        replaced = expands and (row in aliases or row.name in _REPLACED)
        if row.name in _OF_THE_LINE or replaced:
            continue
        shown = tuple(_shown(row, value) for value in (row.default if typed is None else typed))
        is_list = row.takes is Takes.MANY and row.name != "model"  # Marian's scorer has one
        values[row.name] = shown if is_list else shown[-1] if shown else ""
    written.pop("compat", None)
    if written and form != "saved":
        names = ", ".join(f"--{name}" for name in written)
        note(f"left out of the file: {names} ({table.program} has no such option)")
    return values


def _shown(row: Row, value: str) -> str:
    """A value as the program writes it: true, false, or a number as in C++."""
    if row.takes is Takes.SWITCH:
        return str(is_true((value,))).lower()
    try:
        for default in row.default:
            plain_number(float, default)
        number = plain_number(float, value)
    except ValueError:
        return value
    if not row.default:
        return value
    return f"{int(value)}" if value.lstrip("+-").isdecimal() else f"{number:g}"
