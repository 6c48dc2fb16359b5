"""The table of options of each program and command."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..options.flags import Flag, statements
from . import amun, dl4mt, marian_decode, marian_train, nematus, nematus_decode
from .fields import Fields
from .row import Alias, Option, Row, Takes
from .rows import each

PROGRAMS = ("nematus", "nematus-tf", "marian", "amun", "dl4mt")


@dataclass(frozen=True)
class Table:
    """The options of a program's command.

    settle: replaces fields that cgru lacks; defaults: values of fields that are not given, besides
    the rows' defaults in training; positional: the fields of positional arguments; abbreviations:
    whether long options may be abbreviated, as in argparse and Boost; like_marian: whether a
    repeated option adds to its values, and a switch may have a value.
    """

    program: str
    rows: Sequence[Row]
    settle: Callable[[Fields], None] = lambda fields: None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    positional: Sequence[str] = ()
    abbreviations: bool = True
    like_marian: bool = False

    def exact(self, flag: str) -> Row | None:
        """The row of a flag in the program's exact spelling."""
        return next((row for row in self.rows if flag in row.flags), None)

    def row(self, flag: str) -> Row | None:
        """The row of a flag or of an unambiguous abbreviation; underscores count as dashes."""
        plain = flag.replace("_", "-")
        if plain in self._by_flag or not self.abbreviations or not flag.startswith("--"):
            return self._by_flag.get(plain)
        begun = {id(row): row for name, row in self._by_flag.items() if name.startswith(plain)}
        return next(iter(begun.values())) if len(begun) == 1 else None

    def key(self, name: str) -> Row | None:
        """The row of a key in a configuration file."""
        return self._by_flag.get(f"--{name}".replace("_", "-"))

    def stands_for(self, alias: Row) -> list[tuple[Row, list[str]]]:
        """The options, with their values, that an alias sets."""
        assert isinstance(alias.meaning, Alias)  # noqa: S101 - for types
        options = (one.split() for one in each(alias.meaning.options))
        return [(self._by_flag[flag], values) for flag, *values in options]

    @functools.cached_property
    def _by_flag(self) -> dict[str, Row]:
        return {flag.replace("_", "-"): row for row in self.rows for flag in row.flags}


@functools.cache
def table_of(program: str, command: str) -> Table | None:
    """The options of a program's command; None if the program has no such command."""
    uncut = {"max_length": marian_decode.UNCUT}
    of_version = functools.partial(nematus.of_version, theano=program != "nematus-tf")
    made: Any = functools.partial(Table, program)
    marian: Any = functools.partial(made, like_marian=True)
    match program, command:
        case "marian", "train":
            return marian(marian_train.ROWS, marian_train.settle, marian_train.DEFAULTS)
        case "marian", "translate":
            return marian(marian_decode.DECODER, marian_decode.settle_decoder, uncut)
        case "marian", "score":
            return marian(marian_decode.SCORER, marian_decode.settle_scorer, {"max_length": "999"})
        case "marian", "serve":  # for configuration files, where `models` names several models
            rows = [row for row in marian_decode.DECODER if row.name != "models"]
            return marian(rows, marian_decode.settle_decoder)
        case "amun", "translate":
            return made(amun.TRANSLATE, amun.settle, {"max_length": "500"})
        case "nematus", "train":
            settle = nematus.settle_training_of_theano
            return made(of_version(nematus.TRAIN), settle, nematus.DEFAULTS)
        case "nematus-tf", "train":
            settle = nematus.settle_training_of_tensorflow
            defaults = nematus.DEFAULTS | {"init": "nematus-tf"}
            return made(of_version(nematus.TRAIN), settle, defaults)
        case "nematus", "translate":
            rows = of_version(nematus_decode.TRANSLATE)
            return made(rows, nematus_decode.settle_translation, uncut)
        case "nematus-tf", "translate":
            rows = of_version(nematus_decode.TRANSLATE)
            return made(rows, nematus_decode.settle_translation_of_tensorflow, uncut)
        case "nematus", "score":
            return made(nematus_decode.SCORE, defaults=uncut)
        case "nematus-tf", "score":
            return made(nematus_decode.SCORE, nematus_decode.settle_models, uncut)
        case "dl4mt", "train":
            return made(dl4mt.train(), nematus.settle_training_of_theano, nematus.DEFAULTS)
        case "dl4mt", "translate":
            names = dl4mt.TRANSLATE_ARGUMENTS
            return made(dl4mt.TRANSLATE, dl4mt.settle_translation, uncut, names)
        case "dl4mt", "score":
            return made(dl4mt.RESCORE, dl4mt.settle_rescoring, uncut, dl4mt.RESCORE_ARGUMENTS)
    return None


@functools.cache
def own(options: type) -> Table:
    """cgru's own options as rows."""
    rows = [_own_row(name, flag) for name, (flag, _) in statements(options).items()]
    return Table("cgru", rows, abbreviations=False, like_marian=True)


def _own_row(name: str, flag: Flag) -> Row:
    implied = () if flag.implied is None else (str(flag.implied),)
    if flag.is_switch:
        takes = Takes.SWITCH
    elif flag.many:
        takes = Takes.MANY
    else:
        takes = Takes.OPTIONAL if implied else Takes.ONE
    meaning = Option(name)
    if flag.joined:
        meaning = Option(name, lambda values: {name: " ".join(values)})
    names, shown = (*flag.flags, *flag.aliases), flag.metavar or "VALUE"
    return Row(names, takes, (), meaning, implied, flag.is_path, shown)
