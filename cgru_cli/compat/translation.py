"""Translate command lines and configuration files of other programs into cgru's options.

`in_own_names` writes options under their program's names, as the program's --dump-config does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError, note
from ..options import config_file
from ..options.command_line import Settings, interpolated
from ..options.config_file import ConfigFile
from ..options.flags import statements
from ..system.plain_numbers import plain_number
from . import configuration
from .fields import Fields
from .reading import parse
from .row import Alias, Option, Row, Takes, is_true
from .tables import Table, table_of

_OF_THE_LINE = ("help", "version", "config", "dump-config")
_REPLACED = ("task", "fp16-fallback-to-fp32")  # Marian writes the options that these set


def translate(program: str, command: str, arguments: Sequence[str], options: type) -> Settings:
    """Option values from a program's command line, its configuration files, and its defaults.

    command: cgru's command; options: the dataclass of its options. Raises UsageError for refused
    options and options without their value, CgruError for an invalid configuration file.
    """
    table = table_of(program, command)
    if table is None:
        raise UsageError(f"--compat {program}: {program} is only a decoder")
    typed, positional, unknown = parse(table, arguments, options)
    names = {one.row.name for one in typed if one.values != ["false"]}
    if {"-h", "--help"} & set(unknown) or {"help", "version"} & names:
        return Settings(rest=["--help"])
    line = Fields(program=program)
    line.add(typed, table.stands_for)
    named = _positional(table, positional)
    line.values |= named
    line.interpolate = line.take("interpolate_env_vars") or False
    paths = line.values.get("config", ())
    if line.interpolate:
        paths = interpolated(paths, "--config")
    relative = line.values.get("relative_paths", False)
    loaded = list(map(config_file.load, paths))
    files = configuration.read(loaded, command, program, options, relative=relative)
    settings = _merged(line, files, command, options)
    settings.rest = unknown + ([] if named else positional)
    if table.like_marian:
        written = {**settings.written}
        settings.in_own_names = lambda form: in_own_names(table, written, form)
    return settings


def of_files(
    loaded: Sequence[ConfigFile], command: str, options: type, typed: Settings, *, relative: bool
) -> Settings:
    """Option values from a cgru command line with configuration files of another program.

    A file written by Marian's trainer, which has every option, also implies Marian's defaults.
    Raises CgruError, naming file and key, for errors in a file.
    """
    line = Fields(typed.values, interpolate=typed.interpolate)
    files = configuration.read(loaded, command, None, options, relative=relative)
    return _merged(line, files, command, options)


def _merged(line: Fields, files: Fields, command: str, options: type) -> Fields:
    """Merge the program's defaults, files and the line; later values override earlier values."""
    program, known = files.program, statements(options)
    line.program = program
    defaults = _defaults(program, command)
    fields = Fields(dict(defaults), program=program)
    fields.override(files)
    fields.override(line)
    fields.typed = set(line.values)
    # in a dump of all options, values equal to the defaults do not count as given
    from_files = {n for n, value in files.values.items() if defaults.get(n, value) != value}
    fields.given = {*line.values, *from_files, *(files.values.keys() - defaults.keys())}
    if fields.checked:
        described = (f"{name}={' '.join(values)}" for name, values in fields.checked.items())
        fields.values["model_is"] = (*fields.values.get("model_is", ()), *described)
        fields.given.add("model_is")
    for name in fields.values.keys() & known.keys():
        fields.values[name] = known[name][0].shaped(fields.values[name])
    # without --compat, or with --compat marian, a file may belong to either program
    for one in ["marian", "amun"] if program in (None, "marian") else [program]:
        if table := table_of(one, command):
            table.settle(fields)
    fields.values = {name: value for name, value in fields.values.items() if name in known}
    fields.origins = {name: origin for name, origin in fields.origins.items() if name in known}
    return fields


def _defaults(program: str | None, command: str) -> dict[str, Any]:
    """The default values of a program's command, by field."""
    table = table_of(program, command) if program else None
    if table is None:
        return {}
    defaults: dict[str, Any] = {}
    for row in table.rows if command == "train" else ():
        defaults |= default_of(row)
    return defaults | dict(table.defaults)


def default_of(row: Row) -> dict[str, Any]:
    """The fields of cgru's options that a row's default sets; {} if none."""
    meant = row.understand(row.default) if row.default and isinstance(row.meaning, Option) else {}
    if not isinstance(meant, dict):
        return {}
    return {name: value for name, value in meant.items() if value is not False}


def _positional(table: Table, words: list[str]) -> dict[str, Any]:
    """The fields that positional arguments set. Raises UsageError for a wrong number of them."""
    names = table.positional
    if not names or not words:
        return {}
    if len(words) != len(names):
        raise UsageError(
            f"{table.program}: {len(names)} arguments are expected, "
            f"{' '.join(name.replace('_', '-') for name in names)}; {len(words)} are given"
        )
    return dict(zip(names, words, strict=True))


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
