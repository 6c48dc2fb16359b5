"""Configuration files of Marian and amun, understood by the tables of their options."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import CgruError
from ..options import config_file
from .fields import Fields, Given
from .rows import Checked, NoEffect, Refused, Takes, as_typed
from .tables import Table, own, table

# What Marian writes into files of its own and no command line says.
_OF_THE_FILE = ("version", "relative-paths", "interpolate-env-vars", "config", "dump-config")
# What changes no line of the output, and makes a decoder slow that has the programs' values.
OF_SPEED = ("mini-batch", "maxi-batch", "mini-batch-words", "maxi-batch-sort", "workspace")
_AMUN_KEYS = ("scorers", "source-vocab", "target-vocab")
_OF_TRAINER = {"version", "cost-type", "valid-metrics"}  # with every other option


def read(
    paths: Sequence[str], command: str, filed: Fields, options: type, *, relative: bool
) -> None:
    """Add the options of configuration files, which override those of earlier ones.

    options: the dataclass of the command's options; relative: whether paths are relative to each
    file's folder, whatever it says. A file that Marian's trainer wrote makes the program "marian".
    Raises CgruError, naming file and key, for what is wrong in it.
    """
    for path in paths:
        one = Fields(filed.program)
        by_table = filed.program in ("marian", "amun") or config_file.is_foreign(path, options)
        if path.endswith(".json") or not by_table:
            settings = config_file.read(path, options, relative=relative)
            one.values, one.origins = settings.filed, settings.origins
            one.interpolate = settings.interpolate
        else:
            _read_one(path, command, one, options, relative=relative)
        filed.override(one)


def _read_one(path: str, command: str, filed: Fields, options: type, *, relative: bool) -> None:
    """The options of a file of Marian's or amun's, and cgru's beside them."""
    values = dict(config_file.load(path))
    if command != "train":
        values = {key: value for key, value in values.items() if key not in OF_SPEED}
    elif values.keys() >= _OF_TRAINER:
        filed.program = filed.program or "marian"
    amun = filed.program == "amun" or any(key in values for key in _AMUN_KEYS)
    theirs = table("amun" if amun else "marian", command) or Table("none", ())
    filed.interpolate = config_file.is_true(values.get("interpolate-env-vars"))
    known = dataclasses.replace(theirs, rows=(*own(options).rows, *theirs.rows))
    filed.add(_given(values, path, known, options, relative=relative), from_file=True)


def _given(
    values: Mapping[str, Any], path: str, table: Table, options: type, *, relative: bool
) -> Iterator[Given]:
    """The options in a configuration file: rows, file and key, and values as typed.

    Defaults of options that have no effect or are refused are passed over, because Marian writes
    every option into its files. Raises CgruError, naming file and key.
    """
    if "scorers" in values:
        values = _of_amun(dict(values), path)
    relative = relative or config_file.is_true(values.get("relative-paths"))
    of_marian = "version" in values  # a file that it wrote, with every option of that version
    if values.get("config") and not of_marian:
        raise CgruError(f"{path}: config: this file cannot name another; name both with --config")
    for key, value in values.items():
        if key in _OF_THE_FILE:
            continue
        empty = value in (None, "", [], {})
        row = table.key(key)
        if row is None and not (empty and of_marian):
            raise config_file.no_such_option(path, key, options)
        if row is None or empty:
            continue
        several = value if isinstance(value, list) else [value]
        plain = (str, int, float)
        if not all(
            isinstance(one, str if row.is_path(i) else plain) for i, one in enumerate(several)
        ):
            what = "names of files are" if row.paths else "a plain value is"
            raise CgruError(f"{path}: {key} is {value!r}, where {what} expected")
        typed = as_typed(value)
        if typed == row.default and isinstance(row.meaning, Refused | NoEffect | Checked):
            continue
        if row.takes is Takes.SWITCH and not table.like_marian:
            if typed == ("false",):
                continue
            typed = ()
        if relative:
            typed = tuple(
                config_file.beside(t, path) if row.is_path(i) else t for i, t in enumerate(typed)
            )
        yield Given(row, f"{path}: {key}", list(typed))


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
            raise CgruError(
                f"{path}: weights are of {', '.join(map(str, weights))}, scorers are "
                f"{', '.join(map(str, scorers))}"
            )
        values["weights"] = [weights[name] for name in scorers]
    return values
