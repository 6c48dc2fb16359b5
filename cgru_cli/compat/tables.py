"""The table of options of each program and command."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from ..options.flags import Flag, statements
from . import amun, dl4mt, marian_decode, marian_train, nematus
from .rows import Meaning, Option, Row, Special, Takes, joined

OWN = "cgru"
COMMANDS = ("train", "translate", "score")  # that other programs have too
PROGRAMS = ("nematus", "nematus-tf", "marian", "amun", "dl4mt")


@dataclass(frozen=True)
class Table:
    """The options of a program's command.

    positional: the fields of arguments that are no options; abbreviations: whether the beginning
    of a long option stands for it, as argparse and Boost have it; appends: whether an option of
    several values that is given again adds to them.
    """

    program: str
    rows: tuple[Row, ...]
    positional: tuple[str, ...] = ()
    abbreviations: bool = True
    appends: bool = False

    def row(self, flag: str) -> Row | None:
        """The row of a flag as typed, or of its beginning where that is enough."""
        by_flag = self._by_flag
        if flag in by_flag or not self.abbreviations or not flag.startswith("--"):
            return by_flag.get(flag)
        begun = {id(row): row for name, row in by_flag.items() if name.startswith(flag)}
        return next(iter(begun.values())) if len(begun) == 1 else None

    def key(self, name: str) -> Row | None:
        """The row of a name in a configuration file, whichever way its words are joined."""
        plain = name.replace("_", "-")
        return next((row for row in self.rows if plain in _plain(row)), None)

    @property
    def flags(self) -> Sequence[str]:
        """All spellings of all options."""
        return tuple(self._by_flag)

    @functools.cached_property
    def _by_flag(self) -> dict[str, Row]:
        return {flag: row for row in self.rows for flag in row.flags}


def _plain(row: Row) -> set[str]:
    return {flag.lstrip("-").replace("_", "-") for flag in row.flags if flag.startswith("--")}


@functools.cache
def table(program: str, command: str) -> Table | None:
    """The options of a program's command; None where it has no such program."""
    if command not in COMMANDS:
        return None
    if program == "marian":
        rows = {
            "train": marian_train.rows,
            "translate": marian_decode.decoder,
            "score": marian_decode.scorer,
        }[command]()
        return Table(program, tuple(rows), appends=True)
    if program in ("nematus", "nematus-tf"):
        both = {"train": nematus.TRAIN, "translate": nematus.TRANSLATE, "score": nematus.SCORE}
        theano = program == "nematus"
        return Table(program, tuple(nematus.of_version(both[command], theano=theano)))
    if program == "dl4mt" and command == "train":
        return Table(program, tuple(dl4mt.train()))
    if program == "dl4mt" and command == "translate":
        return Table(program, dl4mt.TRANSLATE, dl4mt.POSITIONAL)
    if program == "dl4mt" and command == "score":
        return Table(program, dl4mt.RESCORE, dl4mt.RESCORE_POSITIONAL)
    if program == "amun" and command == "translate":
        return Table(program, amun.TRANSLATE)
    return None


@functools.cache
def own(options: type) -> Table:
    """The options of this package, as rows."""
    rows = [_own_row(name, flag) for name, (flag, _) in statements(options).items()]
    return Table(OWN, tuple(rows), abbreviations=False, appends=True)


def _own_row(name: str, flag: Flag) -> Row:
    implied = () if flag.implied is None else (str(flag.implied),)
    if flag.is_switch:
        takes = Takes.BOOLEAN
    elif flag.many:
        takes = Takes.MANY
    else:
        takes = Takes.OPTIONAL if implied else Takes.ONE
    meaning: Meaning = _SPECIAL.get(name) or Option(name)
    if flag.many and implied:
        meaning = joined(name)
    return Row((*flag.flags, *flag.aliases), takes, None, meaning, implied, bool(flag.path),
               flag.metavar or "VALUE")  # fmt: skip


_SPECIAL = {
    "config": Special.CONFIG,
    "dump_config": Special.DUMP_CONFIG,
    "interpolate_env_vars": Special.INTERPOLATE,
    "relative_paths": Special.RELATIVE,
}


def programs_of(command: str) -> Sequence[Table]:
    """The tables of all programs that have such a command."""
    tables = (table(program, command) for program in PROGRAMS)
    return [one for one in tables if one is not None]
