"""The options of `cgru convert`."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import option

TO = ("dl4mt", "nematus", "nematus-tf", "marian-amun", "marian-nematus", "marian-s2s", "npz", "h5")


@dataclass(frozen=True)
class ConvertOptions:
    """`cgru convert IN OUT`."""

    to: str | None = option(
        None, "dialect to write; npz or h5 by the name of OUT if not given", "--to",
        metavar="DIALECT", choices=TO,
    )  # fmt: skip
    info: bool = option(False, "describe IN and write nothing", "--info", kind=bool)
    json: bool = option(False, "with --info: as JSON, for scripts", "--json", kind=bool)
    arrays: bool = option(False, "with --info: list every array", "--arrays", kind=bool)
    verify: bool = option(
        False, "read OUT again and compare every array with IN, bit for bit", "--verify", kind=bool
    )
    average: tuple[str, ...] = option(
        (), "write the mean of IN and these models (checkpoint averaging)", "--average",
        metavar="MODEL...", many=True,
    )  # fmt: skip
    vocabularies: tuple[str, ...] = option(
        (), "vocabularies, source (one a factor) then target, where none are found",
        "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",),
    )  # fmt: skip
    force: bool = option(False, "overwrite OUT", "-f", "--force", kind=bool)
