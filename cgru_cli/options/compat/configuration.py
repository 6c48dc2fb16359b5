"""Configuration files of Marian and amun, understood by the tables of their options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import CgruError, UsageError
from ...system.structured_files import parse_yaml
from .reading import Given
from .rows import Checked, NoEffect, Refused, Takes, as_typed
from .tables import Table

# What Marian writes into files of its own and no command line says.
_OF_THE_FILE = ("version", "relative-paths", "interpolate-env-vars", "config", "dump-config")
# What changes no line of the output, and is slow here as the programs' decoders have it.
OF_SPEED = ("mini-batch", "maxi-batch", "mini-batch-words", "maxi-batch-sort", "workspace")
_AMUN_KEYS = ("scorers", "source-vocab", "target-vocab")
_NO_FILES = ("", "-", "stdin", "stdout", "none", "temporary")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def load(path: str) -> dict[str, Any]:
    """The keys and values of a `.yml`. Raises CgruError for what is none."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    values = parse_yaml(content, path)
    if not isinstance(values, Mapping):
        raise CgruError(f"{path}: a set of names and values is expected")
    return {str(key): value for key, value in values.items()}


def is_marians(path: str) -> bool:
    """Whether Marian's trainer wrote a file: it holds every option and the version."""
    try:
        with open(path, encoding="utf-8") as file:
            keys = {line.partition(":")[0] for line in file}
    except (OSError, UnicodeDecodeError):
        return False
    return {"version", "cost-type", "valid-metrics"} <= keys


def program_of(values: Mapping[str, Any]) -> str:
    """Whose decoder a configuration is of."""
    return "amun" if any(key in values for key in _AMUN_KEYS) else "marian"


def is_set(values: Mapping[str, Any], key: str) -> bool:
    """Whether a configuration file switches an option on."""
    return str(values.get(key, "")).lower() in ("true", "yes", "on", "1")


def interpolated(text: str, flag: str) -> str:
    """A path with `${VAR}` replaced. Raises UsageError for a variable that is not set."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UsageError(f"{flag} {text}: the environment has no variable {match[1]}")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def relative_to(path: str, folder: str) -> str:
    """A path of a configuration file in this folder, if it is one and not absolute."""
    return path if path in _NO_FILES else os.path.join(folder, path)


def given(values: Mapping[str, Any], path: str, table: Table, *, relative: bool) -> Iterator[Given]:
    """The options in a configuration file: rows, file and key, and values as typed.

    Defaults of options that have no effect or are refused are passed over, because Marian writes
    every option into its files. Raises CgruError, naming file and key.
    """
    if "scorers" in values:
        values = _of_amun(dict(values), path)
    relative = relative or is_set(values, "relative-paths")
    of_marian = "version" in values  # a file that it wrote, with every option of that version
    if values.get("config") and not of_marian:
        raise CgruError(f"{path}: config: this file cannot name another; name both with --config")
    for key, value in values.items():
        if key in _OF_THE_FILE:
            continue
        empty = value in (None, "", [], {})
        row = table.key(key)
        if row is None and not (empty and of_marian):
            raise CgruError(f"{path}: no such option: {key}")
        if row is None or empty:
            continue
        several = value if isinstance(value, list) else [value]
        plain = (str, int, float)
        if not all(
            isinstance(one, str if row.is_path(i) else plain) for i, one in enumerate(several)
        ):
            what = "names of files are" if row.paths else "a plain value is"
            raise CgruError(f"{path}: {key} is {value!r}, where {what} expected")
        typed = list(as_typed(value))
        default = list(row.default_values)
        if typed == default and isinstance(row.meaning, Refused | NoEffect | Checked):
            continue
        if row.takes is Takes.NOTHING:
            if typed == ["false"]:
                continue
            typed = []
        if relative:
            folder = os.path.dirname(path)
            typed = [relative_to(t, folder) if row.is_path(i) else t for i, t in enumerate(typed)]
        yield Given(row, f"{path}: {key}", typed)


def _of_amun(values: dict[str, Any], path: str) -> dict[str, Any]:
    """amun's models and their weights, which stand by name."""
    scorers, weights = values.pop("scorers"), values.pop("weights", None)
    if not isinstance(scorers, Mapping) or not all(
        isinstance(one, Mapping) and isinstance(one.get("path"), str) for one in scorers.values()
    ):
        raise CgruError(f"{path}: scorers is {scorers!r}, where models by name are expected")
    values["model"] = [str(one["path"]) for one in scorers.values()]
    if isinstance(weights, Mapping):
        if list(weights) and set(weights) != set(scorers):
            raise CgruError(f"{path}: weights are of {', '.join(map(str, weights))}, "
                            f"scorers are {', '.join(map(str, scorers))}")  # fmt: skip
        values["weights"] = [weights[name] for name in scorers]
    return values
