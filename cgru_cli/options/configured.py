"""What the commands share whose options may stand in a configuration file."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import Options, options_of

general_option = options_of("General")


@dataclass(frozen=True)
class ConfiguredOptions(Options):
    """Options that say where the others come from, and print them."""

    config: tuple[str, ...] = general_option(
        (), "file of options (.yml or .json), or configuration of Marian or amun; of several, the "
        "later wins, and the command line wins over all", "-c", "--config", metavar="FILE...",
        many=True, path="file",
    )  # fmt: skip
    dump_config: str | None = general_option(
        None, "print options as .yml, and do nothing else: all in force (full) or those that were "
        "given (minimal; expand, with what they stand for)", "--dump-config",
        choices=("full", "minimal", "expand"), implied="full", metavar="FORM",
    )  # fmt: skip
    interpolate_env_vars: bool = general_option(
        False, "in paths, put the environment's variables in the place of ${NAME}",
        "--interpolate-env-vars", kind=bool,
    )  # fmt: skip
    relative_paths: bool = general_option(
        False, "take relative paths in a configuration file as of its folder", "--relative-paths",
        kind=bool,
    )  # fmt: skip
