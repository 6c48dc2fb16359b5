"""Every option of `cgru old-programs`."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import option


@dataclass(frozen=True)
class OldProgramsOptions:
    """`cgru old-programs DIR`."""

    force: bool = option(
        False, "replace files of these names that something else wrote", "-f", "--force", kind=bool
    )
    quiet: bool = option(False, "only warnings and errors", "--quiet", kind=bool)
