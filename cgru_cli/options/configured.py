"""The options about configuration files, which most commands share."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import Options, options_of

general_option = options_of("General")


@dataclass(frozen=True)
class ConfiguredOptions(Options):
    """Options that name configuration files, say how to read them, or print the options."""

    config: tuple[str, ...] = general_option(
        (), "file of options (.yml or .json), or a configuration of Marian or amun; later files "
        "override earlier ones, and the command line overrides all", "-c", "--config",
        metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    dump_config: str | None = general_option(
        None, "print the options as .yml and exit: all of them (full), those that were given "
        "(minimal), or those and what follows from them (expand)", "--dump-config",
        choices=("full", "minimal", "expand"), implied="full", metavar="FORM",
    )  # fmt: skip
    interpolate_env_vars: bool = general_option(
        False, "replace ${NAME} in paths by the environment variable NAME",
        "--interpolate-env-vars", kind=bool,
    )  # fmt: skip
    relative_paths: bool = general_option(
        False, "paths in a configuration file are relative to the folder of that file",
        "--relative-paths", kind=bool,
    )  # fmt: skip
