"""Configuration files that a command line names: this package's own, Marian's and amun's."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from .. import config_file
from ..flags import flag as flag_of
from ..flags import statements
from . import configuration
from .given_fields import GivenFields
from .rows import Special
from .tables import Table, own, programs_of, table


def read_config(path: str, filed: GivenFields, options: type, *, relative: bool) -> None:
    """Add the options of a configuration file to those of earlier ones, which it overrides.

    options: the dataclass of the command's options; relative: whether paths are of the file's
    folder, whatever it says. A file that Marian's trainer wrote makes the program "marian". Raises
    CgruError, naming file and key, for what is wrong in it.
    """
    command = filed.command
    own_form = command not in ("translate", "score", "serve") and filed.program is None
    if path.endswith(".json") or own_form:
        if command != "train" or not configuration.is_marians(path):
            _read_own(path, filed, options, relative=relative)
            return
        filed.program = "marian"
    values = configuration.load(path)
    if command != "train":
        values = {key: value for key, value in values.items() if key not in configuration.OF_SPEED}
    program = filed.program or configuration.program_of(values)
    if program not in ("marian", "amun"):
        program = configuration.program_of(values)
    if configuration.is_set(values, "interpolate-env-vars"):
        filed.interpolate = True
    theirs = table(program, command) or _of_any(command)
    known = dataclasses.replace(theirs, rows=(*theirs.rows, *own(options).rows))
    filed.fill(configuration.given(values, path, known, relative=relative), of_file=True)


def _read_own(path: str, filed: GivenFields, options: type, *, relative: bool) -> None:
    """A file of this package's options, and those of other programs on whose meaning all agree."""
    theirs = _of_any(filed.command)

    def others(key: str) -> bool:
        row = theirs.key(key)
        known = row is not None and not isinstance(row.meaning, Special)
        return known or key in ("relative-paths", "interpolate-env-vars")

    values, foreign = config_file.read(path, options, others)
    of_folder = relative or configuration.is_set(foreign, "relative-paths")
    filed.interpolate |= configuration.is_set(foreign, "interpolate-env-vars")
    for name, value in values.items():
        flag, _ = statements(options)[name]
        value = tuple(value) if isinstance(value, list) and flag.many else value
        if flag.path:
            value = _located(value, path if of_folder else None, filed.interpolate, flag.name)
        filed.values[name] = value
        filed.flags[name] = f"{path}: {flag_of(options, name).lstrip('-')}"
    filed.fill(configuration.given(foreign, path, theirs, relative=relative), of_file=True)


def _located(value: Any, file: str | None, interpolate: bool, flag: str) -> Any:
    """Paths of a configuration file, relative to the folder of `file` if it is given.

    interpolate: whether ${NAME} is replaced by the environment variable.
    """
    if isinstance(value, tuple):
        return tuple(_located(one, file, interpolate, flag) for one in value)
    if not isinstance(value, str):
        return value
    value = configuration.interpolated(value, flag) if interpolate else value
    return configuration.relative_to(value, os.path.dirname(file)) if file else value


def _of_any(command: str) -> Table:
    """The options of all programs together, for a file of no program in particular."""
    return Table("any", tuple(row for theirs in programs_of(command) for row in theirs.rows))
