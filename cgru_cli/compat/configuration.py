"""Read configuration files of Marian and amun, by the tables of their options."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import CgruError
from ..options import config_file
from ..options.config_file import ConfigFile
from .fields import Fields, TypedOption
from .row import Takes, as_typed, is_true
from .tables import Table, own, table_of

# Keys in Marian's files that are not command-line options.
_OF_THE_FILE = ("version", "relative-paths", "interpolate-env-vars", "config", "dump-config")
# Options that only affect speed; the programs' values would slow down cgru's decoder.
OF_SPEED = ("mini-batch", "maxi-batch", "mini-batch-words", "maxi-batch-sort", "workspace")
_AMUN_KEYS = ("scorers", "source-vocab", "target-vocab")
_OF_TRAINER = {"version", "cost-type", "valid-metrics"}  # in files of Marian's trainer


def read(
    loaded: Sequence[ConfigFile],
    command: str,
    program: str | None,
    options: type,
    *,
    relative: bool,
) -> Fields:
    """The options of configuration files; later files override earlier ones.

    program: from --compat; without it, a file written by Marian's trainer implies "marian";
    options: the dataclass of the command's options; relative: whether paths are relative to each
    file's folder even if the file does not say so. Raises CgruError, naming file and key, for
    invalid content.
    """
    files = Fields(program=program)
    for file in loaded:
        dumped = "compat" in file.values  # by --dump-config, unless a program's keys are present
        of_marian = files.program in (None, "marian", "amun")
        by_table = files.program is not None and not dumped
        by_table = by_table or config_file.is_foreign(file, options)
        if (file.path.endswith(".json") and of_marian) or not by_table:
            files.override(config_file.settings(file, options, relative=relative))
        else:
            files.override(_by_table(file, command, files.program, options, relative=relative))
    return files


def _by_table(
    file: ConfigFile, command: str, program: str | None, options: type, *, relative: bool
) -> Fields:
    """The options in a file of Marian or amun, which may also contain options of cgru."""
    path, values = file
    if command != "train":
        values = {key: value for key, value in values.items() if key not in OF_SPEED}
    elif values.keys() >= _OF_TRAINER:
        program = program or "marian"
    amun = any(key in values for key in _AMUN_KEYS)
    table = table_of("amun" if amun else program or "marian", command) or Table("none", ())
    interpolate = config_file.is_true(values.get("interpolate-env-vars"))
    fields = Fields(program=program, interpolate=interpolate)
    known = dataclasses.replace(table, rows=(*own(options).rows, *table.rows))
    typed = _typed_options(values, path, known, options, relative=relative)
    fields.add(typed, known.stands_for, from_file=True)
    return fields


def _typed_options(
    values: Mapping[str, Any], path: str, table: Table, options: type, *, relative: bool
) -> Iterator[TypedOption]:
    """The options in a configuration file: rows, file and key, and values as typed.

    Raises CgruError, naming file and key.
    """
    if "scorers" in values:
        values = _of_amun(dict(values), path)
    relative = relative or config_file.is_true(values.get("relative-paths"))
    of_marian = "version" in values  # written by Marian, with every option of that version
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
        if row.paths:  # amun's vocabularies of factors are a list in the list
            several = [o for one in several for o in (one if isinstance(one, list) else [one])]
        plain = (str, int, float)
        if not all(
            isinstance(one, str if row.is_path(i) else plain) for i, one in enumerate(several)
        ):
            what = "names of files are" if row.paths else "a plain value is"
            raise CgruError(f"{path}: {key} is {value!r}, where {what} expected")
        typed = as_typed(several if isinstance(value, list) else value)
        if isinstance(value, bool) and row.implied and table.like_marian:
            # such as `normalize: true`, which is --normalize without a value
            typed = row.implied if value else (row.default or ("0",))
        if row.takes is Takes.SWITCH and not table.like_marian:
            try:
                if not is_true(typed):
                    continue
            except ValueError as error:
                raise CgruError(f"{path}: {key}: {error}") from None
            typed = ()
        if relative:
            typed = tuple(
                config_file.beside(t, path) if row.is_path(i) else t for i, t in enumerate(typed)
            )
        yield TypedOption(row, f"{path}: {key}", list(typed))


def _of_amun(values: dict[str, Any], path: str) -> dict[str, Any]:
    """amun's models and their weights, both by name."""
    scorers, weights = values.pop("scorers"), values.get("weights")
    for name, one in scorers.items() if isinstance(scorers, Mapping) else ():
        scorer = one if isinstance(one, Mapping) else {}
        if scorer.get("tab") or str(scorer.get("type")).lower() in ("ape", "kenlm"):
            raise CgruError(
                f"{path}: scorers: {name} cannot be honoured: cgru has neither models that read a "
                "second source (tab) nor the scorers Ape and KenLM"
            )
    if not isinstance(scorers, Mapping) or not all(
        isinstance(one, Mapping) and isinstance(one.get("path"), str) for one in scorers.values()
    ):
        raise CgruError(f"{path}: scorers is {scorers!r}, where models by name are expected")
    values["model"] = [one["path"] for one in scorers.values()]
    if weights and isinstance(weights, Mapping):
        if set(weights) != set(scorers):
            raise CgruError(
                f"{path}: weights are of {', '.join(map(str, weights))}, scorers are "
                f"{', '.join(map(str, scorers))}"
            )
        values["weights"] = [weights[name] for name in scorers]
    return values
