"""Command lines and configuration files of other programs, as settings of cgru's options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from ..options.command_line import Settings, interpolated
from ..options.flags import Flag, statements
from . import configuration
from .fields import Fields, Given
from .reading import parse
from .rows import Checked, NoEffect, Option, Refused, Row, Special
from .tables import Table, table

DUMPS = ("full", "minimal", "expand")


def translate(program: str, command: str, arguments: Sequence[str], options: type) -> Settings:
    """The settings of a program's command line, of its configuration files, and its defaults.

    command: of this package; options: the dataclass of its options. Raises UsageError for options
    that are refused or lack a value, CgruError for a configuration file that is none.
    """
    theirs = table(program, command)
    if theirs is None:
        raise UsageError(f"--compat {program}: {program} is a decoder alone")
    parsed = parse(theirs, arguments, options)
    if {"-h", "--help"} & set(parsed.unknown) or _asks_for_help(parsed.given):
        return Settings(rest=["--help"])
    typed = Fields(program)
    typed.add(parsed.given)
    named = _positional(theirs, parsed.positional)
    about = _about_files(parsed.given)
    typed.values |= named | about
    filed = Fields(program)
    paths = about.get("config", ())
    if "interpolate_env_vars" in about:
        paths = interpolated(paths, "--config")
    relative = "relative_paths" in about
    configuration.read(paths, command, filed, options, relative=relative)
    settings = _settings(typed, filed, command, options)
    settings.interpolate |= "interpolate_env_vars" in about
    settings.rest = parsed.unknown + ([] if named else parsed.positional)
    return settings


def of_files(
    paths: Sequence[str], command: str, options: type, typed: Settings, *, relative: bool
) -> Settings:
    """The settings of a line of cgru whose configuration files are another program's.

    A file that Marian's trainer wrote, with every option, makes the defaults Marian's too. Raises
    CgruError, naming file and key, for what is wrong in a file.
    """
    line, filed = Fields(None), Fields(None)
    line.values |= typed.typed
    configuration.read(paths, command, filed, options, relative=relative)
    settings = _settings(line, filed, command, options)
    settings.interpolate |= typed.interpolate
    return settings


def _settings(typed: Fields, filed: Fields, command: str, options: type) -> Settings:
    """Values of the line, of files, and the program's defaults, as options of cgru."""
    program, known = filed.program, statements(options)
    fields = Fields(program, _defaults(program, command))
    files = set(filed.values)
    fields.override(filed)
    typed.program = program
    fields.override(typed)
    if fields.checked:
        described = (f"{name}={' '.join(values)}" for name, values in fields.checked.items())
        fields.values["model_is"] = (*fields.values.get("model_is", ()), *described)
    fields.typed = set(typed.values) | ({"model_is"} if typed.checked else set())
    fields.given = fields.typed | files | ({"model_is"} if fields.checked else set())
    for name in fields.values.keys() & known.keys():
        fields.values[name] = _shaped(known[name][0], fields.values[name])
    for one in ["marian", "amun"] if program in (None, "marian") else [program]:  # files of both
        if theirs := table(one, command):
            theirs.settle(fields)
    _drop_useless_defaults(fields, options)
    settings = Settings(interpolate=filed.interpolate, note=fields.noted)
    for name, value in fields.values.items():
        if name in known:
            weaker = settings.filed if name in fields.given else settings.defaults
            chosen = settings.typed if name in fields.typed else weaker
            chosen[name] = _shaped(known[name][0], value)
    settings.origins = {name: origin for name, origin in fields.origins.items() if name in known}
    return settings


def _drop_useless_defaults(fields: Fields, options: type) -> None:
    """Leave out defaults of options that mean nothing without another one, which is off."""
    for name, (flag, _) in statements(options).items():
        if name in fields.values and not all(
            any(_is_on(fields, options, other) for other in needed.split(" or "))
            for needed in flag.needs
        ):
            fields.drop_default(name)


def _is_on(fields: Fields, options: type, typed: str) -> bool:
    """Whether an option, as `--objective mrt`, is given, or a default, and not off."""
    flag_name, _, word = typed.partition(" ")
    known = statements(options).items()
    name, flag, default = next((n, f, d) for n, (f, d) in known if flag_name in f.flags)
    value = fields.values.get(name, default)
    if word or value is None:
        return str(value).lower() == word
    try:
        read = tuple(map(flag.read, value)) if isinstance(value, tuple) else flag.read(value)
    except ValueError:
        return True
    return not flag.is_off(read, default)


def _defaults(program: str | None, command: str) -> dict[str, Any]:
    """The defaults of a program's command, by field."""
    theirs = table(program, command) if program else None
    if theirs is None:
        return {}
    defaults: dict[str, Any] = {}
    for row in theirs.rows if command == "train" else ():
        defaults |= default_of(row)
    return defaults | dict(theirs.defaults)


def default_of(row: Row) -> dict[str, Any]:
    """The fields that a row's default sets here; {} where it has no meaning here."""
    if not row.default or not isinstance(row.meaning, Option):
        return {}
    meant = row.understand(row.default)
    if isinstance(meant, NoEffect | Refused | Checked | Special):
        return {}
    return {name: value for name, value in meant.items() if value is not False}


def _shaped(flag: Flag, value: Any) -> Any:
    """One value or several, as the option takes them; the last of several for one."""
    several = flag.many and not flag.joined
    if several and isinstance(value, str):
        return (value,)
    if not several and isinstance(value, tuple):
        return value[-1] if value else None
    return value


def _positional(theirs: Table, words: list[str]) -> dict[str, Any]:
    """The fields that a program's arguments set; {} where it has none. Raises UsageError."""
    names = theirs.positional
    if not names or not words:
        return {}
    if len(words) != len(names):
        raise UsageError(
            f"{theirs.program}: {len(names)} arguments are expected, "
            f"{' '.join(name.replace('_', '-') for name in names)}; {len(words)} are given"
        )
    several = ("model", "input")
    named = zip(names, words, strict=True)
    return {name: (word,) if name in several else word for name, word in named}


def _asks_for_help(given: Sequence[Given]) -> bool:
    asking = (Special.HELP, Special.VERSION)
    return any(one.row.meaning in asking and one.values != ["false"] for one in given)


def _about_files(given: Sequence[Given]) -> dict[str, Any]:
    """The options about files, and of what is printed, as fields; those that are off left out."""
    about: dict[str, Any] = {}
    for row, origin, values, _ in given:
        match row.meaning:
            case Special.CONFIG:
                about["config"] = (*about.get("config", ()), *values)
            case Special.DUMP_CONFIG:
                about["dump_config"] = form = (values or [*row.implied, "full"])[-1]
                if form not in DUMPS:
                    raise UsageError(f"{origin} {form}: {', '.join(DUMPS)} are known")
            case Special.INTERPOLATE if values != ["false"]:
                about["interpolate_env_vars"] = True
            case Special.RELATIVE if values != ["false"]:
                about["relative_paths"] = True
    return about
