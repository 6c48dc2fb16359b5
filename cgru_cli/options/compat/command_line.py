"""Command lines of other programs, as options of this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import UsageError
from ..flags import Flag, statements
from . import configuration, filters, train
from .config_files import read_config
from .given_fields import GivenFields
from .option_values import OptionValues, note_of
from .reading import Given, parse
from .rows import Checked, NoEffect, Option, Refused, Row, Special
from .tables import PROGRAMS, programs_of, table

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
    typed = GivenFields(command, program, special.interpolate)
    typed.fill(parsed.given)
    typed.values |= result.values | special.values
    filed = GivenFields(command, program, special.interpolate)
    for path in special.configs if files else ():
        path = configuration.interpolated(path, "--config") if special.interpolate else path
        read_config(path, filed, options, relative=special.relative)
    result.program = filed.program
    meant = _merged(typed, filed, options)
    _RESOLVE.get(command, lambda _values: None)(meant)
    _settle(result, meant, typed, filed, options)
    return result


def _merged(typed: GivenFields, filed: GivenFields, options: type) -> OptionValues:
    """The values of the command line, of configuration files, and of the program's defaults."""
    program, command = filed.program, filed.command
    defaults = _defaults(program, command, options) if program else {}
    known = statements(options)
    meant = OptionValues(
        program,
        command,
        defaults | filed.values | typed.values,
        given=set(filed.values) | set(typed.values),
        typed=set(typed.values),
        notes=[*filed.notes, *typed.notes],
        flags=filed.flags | typed.flags,
        own=known,
    )
    checked = filed.checked | typed.checked
    if checked:
        meant.values["model_is"] = tuple(
            f"{name}={' '.join(values)}" for name, values in checked.items()
        )
        meant.given.add("model_is")
    for name in meant.values.keys() & known.keys():
        meant.values[name] = _shaped(known[name][0], meant.values[name])
    return meant


def _settle(
    result: Understood, meant: OptionValues, typed: GivenFields, filed: GivenFields, options: type
) -> None:
    """Divide the values into those of the command line and those that are defaults to it."""
    known = statements(options)
    for name, value in meant.values.items():
        if name not in known:
            _missing(name, meant)
            continue
        of_file = name in filed.values and name not in typed.values
        values = result.defaults if of_file or name not in meant.given else result.values
        values[name] = _shaped(known[name][0], value)
    for name in typed.values:  # what takes the place of an option that was typed was typed
        if name in result.defaults:
            result.values[name] = result.defaults.pop(name)
    result.origins = {name: filed.flags[name] for name in result.defaults if name in filed.flags}
    result.note = note_of(meant.notes) if meant.notes else ""
    result.values = {name: value for name, value in result.values.items() if name in known}


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
        reason = train.MISSING.get(name, f"cgru {meant.command} has no such option")
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
