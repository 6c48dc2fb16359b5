"""The options of `cgru convert`."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .flags import option

TO = ("dl4mt", "nematus", "nematus-tf", "marian-amun", "marian-nematus", "marian-s2s", "npz", "h5")


@dataclass(frozen=True)
class ConvertOptions(ConfiguredOptions):
    """`cgru convert IN OUT`."""

    to: str | None = option(
        None, "program and format to write for; npz or h5 by the name of OUT if not given",
        "--to", metavar="DIALECT", choices=TO, excludes=("--info",),
    )  # fmt: skip
    info: bool = option(False, "describe IN, and write no file", "--info", kind=bool)
    json: bool = option(
        False, "print the description as JSON", "--json", kind=bool, needs=("--info",)
    )
    arrays: bool = option(
        False, "list every array in the description", "--arrays", kind=bool, needs=("--info",)
    )
    verify: bool = option(
        False, "read OUT again and compare every array with IN, bit for bit", "--verify",
        kind=bool, excludes=("--info",),
    )  # fmt: skip
    average: tuple[str, ...] = option(
        (), "write the mean of IN and these models (checkpoint averaging)", "--average",
        metavar="MODEL...", many=True, excludes=("--info",), path="file",
    )  # fmt: skip
    vocabularies: tuple[str, ...] = option(
        (), "vocabulary files, source (one for each factor) then target, where IN names none",
        "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",), path="file",
    )  # fmt: skip
    force: bool = option(False, "overwrite OUT", "-f", "--force", kind=bool, excludes=("--info",))
