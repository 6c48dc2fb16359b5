"""The options of `cgru old-programs`."""

from __future__ import annotations

from dataclasses import dataclass

from .declaration import Group
from .options import Options

_GROUP = Group("")


@dataclass(frozen=True)
class OldProgramsOptions(Options):
    """`cgru old-programs DIR`."""

    force: bool = _GROUP("""
        -f --force: replace files of the same names that were not written by this command""")
    quiet: bool = _GROUP("-q --quiet: write only warnings and errors to standard error")
