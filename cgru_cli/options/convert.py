"""The options of `cgru convert`."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .flags import options_of

TO = ("dl4mt", "nematus", "nematus-tf", "marian-amun", "marian-nematus", "marian-s2s", "npz", "h5")


output_option = options_of("Output")
description_option = options_of("Description")


@dataclass(frozen=True)
class ConvertOptions(ConfiguredOptions):
    """`cgru convert IN OUT`."""

    to: str | None = output_option(
        None, "format of OUT (if not given: npz or h5, by the ending of its name)", "--to",
        metavar="DIALECT", choices=TO, excludes=("--info",),
    )  # fmt: skip
    verify: bool = output_option(
        False, "read OUT again and compare every array with IN, bit for bit", "--verify",
        kind=bool, excludes=("--info",),
    )  # fmt: skip
    average: tuple[str, ...] = output_option(
        (), "write the mean of IN and these models (checkpoint averaging)", "--average",
        metavar="MODEL...", many=True, excludes=("--info",), path="file",
    )  # fmt: skip
    vocabularies: tuple[str, ...] = output_option(
        (), "vocabulary files, source (one for each factor) then target, where IN names none",
        "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",), path="file",
    )  # fmt: skip
    force: bool = output_option(
        False, "overwrite OUT", "-f", "--force", kind=bool, excludes=("--info",)
    )

    info: bool = description_option(False, "describe IN, and write no file", "--info", kind=bool)
    json: bool = description_option(
        False, "print the description as JSON", "--json", kind=bool, needs=("--info",)
    )
    arrays: bool = description_option(
        False, "list every array in the description", "--arrays", kind=bool, needs=("--info",)
    )
