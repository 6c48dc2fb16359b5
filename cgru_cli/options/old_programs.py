"""The options of `cgru old-programs`."""

from __future__ import annotations

from dataclasses import dataclass

from .declaration import option
from .flags import Options


@dataclass(frozen=True)
class OldProgramsOptions(Options):
    """`cgru old-programs DIR`."""

    force: bool = option(
        "-f --force: replace files of the same names that were not written by this command"
    )
    quiet: bool = option("--quiet: write only warnings and errors to standard error")
