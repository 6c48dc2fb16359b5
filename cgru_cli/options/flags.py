"""Every option of every command, said once: name, default, help, unit, and legacy aliases.

Flags, help texts and the table in the documentation come from the dataclasses here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError


@dataclass(frozen=True)
class Flag:
    """What the command line needs to know of one option.

    flags: as typed, the one that errors name first; aliases: the names that Nematus and Marian
    give it, understood and not shown; many: takes one value or several, and may be repeated;
    implied: the value that stands for the option without one; choices: the values allowed.
    """

    help: str
    flags: tuple[str, ...]
    kind: Callable[[str], Any] = str
    aliases: tuple[str, ...] = ()
    metavar: str = ""
    unit: str = ""
    many: bool = False
    implied: Any = None
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value at all."""
        return self.kind is bool


def option(default: Any, help: str, *flags: str, **more: Any) -> Any:
    """A dataclass field that is an option."""
    return field(default=default, metadata={"flag": Flag(help, flags, **more)})


def device_option() -> Any:
    """Where a command computes."""
    help = "where to compute; a GPU if there is one, else the CPU"
    return option(None, help, "--device", metavar="cpu|gpu[:N]")


def threads_option() -> Any:
    """How many threads a command computes with."""
    help = "threads to compute with; all processors if not given"
    return option(None, help, "--cpu-threads", kind=int, metavar="N")


def statements(options: type) -> dict[str, tuple[Flag, Any]]:
    """Each option of a dataclass: its flag and its default, by field name."""
    return {f.name: (f.metadata["flag"], f.default) for f in dataclasses.fields(options)}


def table(options: type) -> list[tuple[str, str, str, str]]:
    """Rows of the documentation: flags, aliases, default, help with unit."""
    rows = []
    for flag, default in statements(options).values():
        metavar = f" {flag.metavar}" if flag.metavar else ""
        unit = f" ({flag.unit})" if flag.unit else ""
        shown = "" if default in (None, (), False, "") else str(default)
        rows.append(
            (", ".join(flag.flags) + metavar, " ".join(flag.aliases), shown, flag.help + unit)
        )
    return rows


def spread_values(arguments: Sequence[str], options: type) -> list[str]:
    """Rewrite `-m A B` to `-m A -m B`, and `-n` without a value to `-n IMPLIED`.

    Marian and Nematus take several values after one flag; so do the scripts written for them.
    """
    by_flag = {}
    for flag, _ in statements(options).values():
        by_flag |= dict.fromkeys((*flag.flags, *flag.aliases), flag)
    spread_out: list[str] = []
    pending = list(arguments)
    used: dict[Flag, tuple[str, str]] = {}
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            return [*spread_out, argument, *pending]
        flag = by_flag.get(argument)
        if flag is not None and not flag.many and not flag.is_switch and pending:
            first, value = used.setdefault(flag, (argument, pending[0]))
            if first != argument and value != pending[0]:  # Nematus' -k 5 -b 80, for one
                raise UsageError(
                    f"{first} {value} and {argument} {pending[0]} are the same option: {flag.help}"
                )
        if flag is None or not (flag.many or flag.implied is not None):
            spread_out.append(argument)
            continue
        values = []
        while pending and not _is_flag(pending[0]) and (flag.many or not values):
            values.append(pending.pop(0))
        if flag.many and flag.implied is not None:  # one value of several words
            spread_out += [argument, " ".join(values) or str(flag.implied)]
        elif values:
            for value in values:
                spread_out += [argument, value]
        elif flag.implied is not None:
            spread_out += [argument, str(flag.implied)]
        else:
            spread_out.append(argument)
    return spread_out


def _is_flag(argument: str) -> bool:
    """Whether an argument is an option rather than a value; -0.5 and - are values."""
    if not argument.startswith("-") or argument == "-":
        return False
    try:
        float(argument)
    except ValueError:
        return True
    return False
