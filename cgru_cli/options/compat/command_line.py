"""Command lines of other programs, as options of this package."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import CgruError, UsageError
from .. import config_file
from ..flags import Flag, statements
from ..flags import flag as flag_of
from . import configuration, filters, train
from .option_values import OptionValues, note_of
from .reading import Given, parse
from .rows import Checked, NoEffect, Option, Refused, Row, Special, Takes, is_true
from .tables import PROGRAMS, Table, own, programs_of, table

_RESOLVE = {
    "train": train.resolve,
    "translate": filters.resolve_translate,
    "score": filters.resolve_score,
}
DUMPS = ("full", "minimal", "expand")


def program_named(arguments: Sequence[str]) -> str | None:
    """The program of --compat, wherever it stands; None without it."""
    for i, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--compat":
            named = value if equals else "".join(arguments[i + 1 : i + 2])
            return named if named in PROGRAMS else None
    return None


@dataclass
class Understood:
    """A command line as options of this package.

    values: fields that it sets, as typed; defaults: fields that the program or a configuration
    file sets; rest: words that are no options, and options that nobody knows; note: what is without
    effect, "" if nothing is; program: whose command line it was; dump: a form of --dump-config, if
    asked for.
    """

    values: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    note: str = ""
    program: str | None = None
    dump: str | None = None
    origins: dict[str, str] = field(default_factory=dict)  # of defaults: file and key


def understand(
    program: str | None,
    command: str,
    arguments: Sequence[str],
    options: type,
    *,
    files: bool = True,
) -> Understood:
    """A program's command line as options of this package; without a program, cgru's own.

    command: of this package; options: the dataclass of its options; files: whether configuration
    files are read. Raises UsageError for options that are refused, ambiguous, or lack a value,
    CgruError for a configuration file that is none.
    """
    if program == "amun" and command != "translate":
        raise UsageError(f"--compat {program}: {program} is a decoder alone")
    parsed = parse(program, command, arguments, options)
    special = _Special.of(parsed.given)
    result = Understood(rest=parsed.unknown, program=program, dump=special.dump)
    if special.help or {"-h", "--help"} & set(parsed.unknown):
        result.rest = ["--help"]
        return result
    result.rest += _positional(parsed.positional, program, command, result)
    typed = _Fields(command, program, special.interpolate)
    typed.fill(parsed.given)
    typed.values |= result.values | special.values
    filed = _Fields(command, program, special.interpolate)
    for path in special.configs if files else ():
        path = configuration.interpolated(path, "--config") if special.interpolate else path
        _read_config(path, filed, result, special, options)
        program = result.program
    defaults = _defaults(program, command, options) if program else {}
    meant = OptionValues(
        program,
        command,
        defaults | filed.values | typed.values,
        given=set(filed.values) | set(typed.values),
        typed=set(typed.values),
        notes=[*filed.notes, *typed.notes],
        flags=filed.flags | typed.flags,
        own=statements(options),
    )
    checked = filed.checked | typed.checked
    if checked:
        meant.values["model_is"] = tuple(
            f"{name}={' '.join(values)}" for name, values in checked.items()
        )
        meant.given.add("model_is")
    known = statements(options)
    for name in meant.values.keys() & known.keys():
        meant.values[name] = _shaped(known[name][0], meant.values[name])
    _RESOLVE.get(command, lambda _values: None)(meant)
    for name, value in meant.values.items():
        if name not in known:
            _missing(name, meant)
            continue
        value = _shaped(known[name][0], value)
        if (name in filed.values and name not in typed.values) or name not in meant.given:
            result.defaults[name] = value
        else:
            result.values[name] = value
    for name in typed.values:  # what takes the place of an option that was typed was typed
        if name in result.defaults:
            result.values[name] = result.defaults.pop(name)
    result.origins = {name: filed.flags[name] for name in result.defaults if name in filed.flags}
    result.note = note_of(meant.notes) if meant.notes else ""
    result.values = {name: value for name, value in result.values.items() if name in known}
    return result


def _shaped(flag: Flag, value: Any) -> Any:
    """One value or several, as this package's option has it; the last of several for one."""
    several = flag.many and flag.implied is None
    if several and isinstance(value, str):
        return (value,)
    if not several and isinstance(value, tuple):
        return value[-1] if value else None
    return value


def _missing(name: str, meant: OptionValues) -> None:
    """A field of another program without a counterpart in cgru. Raises UsageError if it was set."""
    if meant.is_given(name) and meant.values[name] not in (None, False, (), ""):
        flag = "--" + name.replace("_", "-")
        reason = train.MISSING.get(name, f"cgru {meant.command} has no such thing")
        raise UsageError(f"{flag} cannot be honoured: {reason}")


@dataclass
class _Special:
    """Options that say how the others are read."""

    configs: list[str] = field(default_factory=list)
    dump: str | None = None
    interpolate: bool = False
    relative: bool = False
    help: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """These options as fields of `ConfiguredOptions`, where they are set."""
        values = {
            "config": tuple(self.configs), "dump_config": self.dump,
            "interpolate_env_vars": self.interpolate, "relative_paths": self.relative,
        }  # fmt: skip
        return {name: value for name, value in values.items() if value}

    @classmethod
    def of(cls, given: Iterable[Given]) -> _Special:
        special = cls()
        for row, flag, values, _ in given:
            match row.meaning:
                case Special.CONFIG:
                    special.configs += values
                case Special.DUMP_CONFIG:
                    special.dump = (values or list(row.implied) or ["full"])[-1]
                    if special.dump not in DUMPS:
                        raise UsageError(f"{flag} {special.dump}: {', '.join(DUMPS)} are known")
                case Special.INTERPOLATE:
                    special.interpolate = values != ["false"]
                case Special.RELATIVE:
                    special.relative = values != ["false"]
                case Special.HELP | Special.VERSION:
                    special.help = values != ["false"]
        return special


class _Fields:
    """Values by field, of options that were given."""

    def __init__(self, command: str, program: str | None, interpolate: bool):
        self.command, self.program, self.interpolate = command, program, interpolate
        self.values: dict[str, Any] = {}
        self.checked: dict[str, tuple[str, ...]] = {}
        self.notes: list[tuple[str, str]] = []
        self.flags: dict[str, str] = {}
        self.aliased: set[str] = set()  # fields whose value an alias gave

    def fill(self, given: Iterable[Given], *, of_file: bool = False) -> None:
        """Add options. Raises UsageError (CgruError, of a file) for what cannot be honoured."""
        error = CgruError if of_file else UsageError
        for one in given:
            row, flag, values, _ = one
            if self.interpolate and row.paths:
                values = [configuration.interpolated(value, flag) for value in values]
            try:
                meant = row.understand(values)
                asked = is_true(values) if values and row.takes is Takes.BOOLEAN else None
            except ValueError as wrong:
                raise error(f"{flag}: {wrong}") from None
            if isinstance(meant, Refused | NoEffect) and asked is not None and asked == row.default:
                continue  # it asks for nothing
            if isinstance(meant, Refused):
                shown = isinstance(row.meaning, Option) and values
                what = f"{flag} {values[-1]}" if shown else flag
                raise error(f"{what} cannot be honoured: {meant.reason}")
            if isinstance(meant, NoEffect):
                self.notes.append((flag, meant.reason))
            elif isinstance(meant, Checked):
                self.checked[meant.name] = tuple(values) or ("true",)
            elif not isinstance(meant, Special):
                for name, value in meant.items():
                    self._set(name, value, one)

    def _set(self, name: str, value: Any, given: Given) -> None:
        alias = isinstance(given.row.meaning, Option) and given.row.meaning.alias
        if alias and name in self.values and name not in self.aliased:
            return
        if not alias and name in self.aliased:
            self.aliased.remove(name)
            del self.values[name]
        if alias:
            self.aliased.add(name)
        before = self.values.get(name)
        if before is not None and isinstance(value, tuple) and (given.appends or name == "freeze"):
            value = (*before, *value)
        elif name == "after" and before is not None and self.program == "marian":
            value = f"{before},{value}"
        elif before not in (None, value) and self.flags[name] != given.flag:
            raise UsageError(
                f"{self.flags[name]} {before} and {given.flag} {value} are the same option"
            )
        self.values[name] = value
        self.flags[name] = given.flag


def _positional(
    words: list[str], program: str | None, command: str, result: Understood
) -> list[str]:
    """Words that are no options: a program's own, or this package's. Raises UsageError."""
    theirs = table(program, command) if program else None
    names = theirs.positional if theirs else ()
    if not program:
        for other in programs_of(command):
            if words and len(words) == len(other.positional):
                raise UsageError(
                    f"{words[0]}: unexpected argument; {len(words)} arguments that are no options "
                    f"are of {other.program}'s command line: --compat {other.program}"
                )
    if not names or not words:
        return list(words)
    if len(words) != len(names):
        raise UsageError(
            f"{program}: {len(names)} arguments are expected, "
            f"{' '.join(name.replace('_', '-') for name in names)}; {len(words)} are given"
        )
    for name, word in zip(names, words, strict=True):
        result.values[name] = (word,) if name in ("model", "input") else word
    return []


def _read_config(
    path: str, filed: _Fields, result: Understood, special: _Special, options: type
) -> None:
    """One configuration file; a later one has the last word."""
    command = filed.command
    own_form = command not in ("translate", "score", "serve") and result.program is None
    if path.endswith(".json") or own_form:
        if command != "train" or not configuration.is_marians(path):
            _read_own(path, filed, command, options, special)
            return
        result.program = filed.program = "marian"
    values = configuration.load(path)
    if command != "train":
        values = {key: value for key, value in values.items() if key not in configuration.OF_SPEED}
    program = result.program or configuration.program_of(values)
    if program not in ("marian", "amun"):
        program = configuration.program_of(values)
    if configuration.is_set(values, "interpolate-env-vars"):
        filed.interpolate = True
    theirs = table(program, command) or _of_any(command)
    known = dataclasses.replace(theirs, rows=(*theirs.rows, *own(options).rows))
    filed.fill(
        configuration.given(values, path, known, frozenset(), relative=special.relative),
        of_file=True,
    )


def _read_own(path: str, filed: _Fields, command: str, options: type, special: _Special) -> None:
    """A file of this package's options, with those of others that all mean alike."""
    theirs = _of_any(command)

    def others(key: str) -> bool:
        row = theirs.key(key)
        known = row is not None and not isinstance(row.meaning, Special)
        return known or key in ("relative-paths", "interpolate-env-vars")

    values, foreign = config_file.read(path, options, others)
    relative = special.relative or configuration.is_set(foreign, "relative-paths")
    filed.interpolate |= configuration.is_set(foreign, "interpolate-env-vars")
    for name, value in values.items():
        flag, _ = statements(options)[name]
        value = tuple(value) if isinstance(value, list) and flag.many else value
        if flag.path:
            value = _located(value, path if relative else None, filed.interpolate, flag.name)
        filed.values[name] = value
        filed.flags[name] = f"{path}: {flag_of(options, name).lstrip('-')}"
    given = configuration.given(foreign, path, theirs, frozenset(), relative=special.relative)
    filed.fill(given, of_file=True)


def _located(value: Any, file: str | None, interpolate: bool, flag: str) -> Any:
    """Paths of a configuration file: of its folder, where `file` names it, and with ${VAR} read."""
    if isinstance(value, tuple):
        return tuple(_located(one, file, interpolate, flag) for one in value)
    if not isinstance(value, str):
        return value
    value = configuration.interpolated(value, flag) if interpolate else value
    return configuration.relative_to(value, os.path.dirname(file)) if file else value


def _of_any(command: str) -> Table:
    """All options of all programs, for a file that is of none in particular."""
    return Table("any", tuple(row for theirs in programs_of(command) for row in theirs.rows))


def _defaults(program: str, command: str, options: type) -> dict[str, Any]:
    """The defaults of a program's command, by field."""
    theirs = table(program, command)
    defaults: dict[str, Any] = {}
    if command == "train":
        defaults |= train.extra_defaults(program)
        for row in theirs.rows if theirs else ():
            defaults |= default_of(row)
    else:
        defaults |= filters.extra_defaults(program, command)
    return defaults


def default_of(row: Row) -> dict[str, Any]:
    """The fields that a row's default sets here; {} where it has no meaning here."""
    typed = row.default_values
    if not typed or typed == ("",) or not isinstance(row.meaning, Option):
        return {}
    meant = row.understand(typed)
    if isinstance(meant, NoEffect | Refused | Checked | Special):
        return {}
    return {name: value for name, value in meant.items() if value is not False}
