"""Command lines and configuration files of other programs, as options of this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..options.command_line import Settings, interpolated
from ..options.flags import Flag, statements
from . import configuration, filters, train
from .given_fields import GivenFields
from .option_values import OptionValues, note_of
from .reading import Given, parse
from .rows import Checked, NoEffect, Option, Refused, Row, Special
from .tables import table

_RESOLVE = {
    "train": train.resolve,
    "translate": filters.resolve_translate,
    "score": filters.resolve_score,
}
DUMPS = ("full", "minimal", "expand")


def translate(program: str, command: str, arguments: Sequence[str], options: type) -> Settings:
    """The settings of a program's command line, of its configuration files, and its defaults.

    command: of this package; options: the dataclass of its options. Raises UsageError for options
    that are refused, ambiguous, or lack a value, CgruError for a configuration file that is none.
    """
    if program == "amun" and command != "translate":
        raise UsageError(f"--compat {program}: {program} is a decoder alone")
    parsed = parse(program, command, arguments, options)
    special = _Special.of(parsed.given)
    if special.help or {"-h", "--help"} & set(parsed.unknown):
        return Settings(rest=["--help"])
    named, rest = _positional(parsed.positional, program, command)
    typed = GivenFields(command, program)
    typed.fill(parsed.given)
    typed.values |= named | special.values
    filed = GivenFields(command, program)
    paths = [
        interpolated(path, "--config") if special.interpolate else path for path in special.configs
    ]
    configuration.read(paths, filed, options, relative=special.relative)
    settings = _settings(typed, filed, options)
    settings.rest = parsed.unknown + rest
    settings.interpolate |= special.interpolate
    return settings


def of_files(
    paths: Sequence[str], command: str, options: type, typed: Settings, *, relative: bool
) -> Settings:
    """The settings of a line of this package whose configuration files are another program's.

    Where Marian's trainer wrote a file, with every option of Marian, its defaults are Marian's too.
    Raises CgruError, naming file and key, for what is wrong in a file.
    """
    given = GivenFields(command, None)
    given.values |= typed.typed
    filed = GivenFields(command, None)
    paths = [interpolated(path, "--config") if typed.interpolate else path for path in paths]
    configuration.read(paths, filed, options, relative=relative)
    settings = _settings(given, filed, options)
    settings.interpolate |= typed.interpolate
    return settings


def _settings(typed: GivenFields, filed: GivenFields, options: type) -> Settings:
    meant = _merged(typed, filed, options)
    _RESOLVE.get(typed.command, lambda _values: None)(meant)
    settings = Settings(interpolate=filed.interpolate)
    _settle(settings, meant, typed, filed, options)
    return settings


def _merged(typed: GivenFields, filed: GivenFields, options: type) -> OptionValues:
    """The values of the command line, of configuration files, and of the program's defaults."""
    program, command = filed.program, filed.command
    defaults = _defaults(program, command) if program else {}
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
        meant.values["model_is"] = (
            *meant.values.get("model_is", ()),
            *(f"{name}={' '.join(values)}" for name, values in checked.items()),
        )
        meant.given.add("model_is")
    for name in meant.values.keys() & known.keys():
        meant.values[name] = _shaped(known[name][0], meant.values[name])
    return meant


def _settle(
    settings: Settings, meant: OptionValues, typed: GivenFields, filed: GivenFields, options: type
) -> None:
    """Divide the values into those that were typed, those of files, and defaults."""
    known = statements(options)
    for name, value in meant.values.items():
        if name not in known:
            _missing(name, meant)
            continue
        of_file = name in filed.values and name not in typed.values
        is_typed = name in typed.values or (name in meant.given and not of_file)
        values = settings.filed if of_file else settings.typed if is_typed else settings.defaults
        values[name] = _shaped(known[name][0], value)
    settings.origins = {name: origin for name, origin in meant.flags.items() if name in known}
    settings.note = note_of(meant.notes) if meant.notes else ""


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
    """Options that say how the others are read, or end the command."""

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


def _positional(words: list[str], program: str, command: str) -> tuple[dict[str, Any], list[str]]:
    """Fields that a program's arguments set, and the arguments of this package's commands."""
    theirs = table(program, command)
    names = theirs.positional if theirs else ()
    if not names or not words:
        return {}, list(words)
    if len(words) != len(names):
        raise UsageError(
            f"{program}: {len(names)} arguments are expected, "
            f"{' '.join(name.replace('_', '-') for name in names)}; {len(words)} are given"
        )
    several = ("model", "input")
    named = zip(names, words, strict=True)
    return {name: (word,) if name in several else word for name, word in named}, []


def _defaults(program: str, command: str) -> dict[str, Any]:
    """The defaults of a program's command, by field."""
    if command != "train":
        return filters.extra_defaults(program, command)
    theirs = table(program, command)
    defaults = train.extra_defaults(program)
    for row in theirs.rows if theirs else ():
        defaults |= default_of(row)
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
