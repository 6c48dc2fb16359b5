"""Options for configuration files, which most commands share."""

from __future__ import annotations

from dataclasses import dataclass

from .declaration import Group
from .options import Options
from .scope import Scope

GENERAL = Group("General")
FILES = Group("Configuration files", applies_to=Scope.MACHINE | Scope.VOCABULARY)


@dataclass(frozen=True)
class ConfiguredOptions(Options):
    """Options that name configuration files, say how to read them, or print the options."""

    config: tuple[str, ...] = FILES("""
        -c --config FILE...: file of options (.yml or .json), or a configuration of Marian or amun;
        later files override earlier ones, and the command line overrides all""")
    dump_config: str | None = FILES.choice("full", "minimal", "expand", implied="full")("""
        --dump-config FORM: print the options as .yml and exit: all options (full), only those that
        you set (minimal), or these and the --compat program's defaults (expand); with --compat
        marian in Marian's names, where expand replaces aliases such as --best-deep""")
    interpolate_env_vars: bool = FILES("""
        --interpolate-env-vars: replace ${NAME} in paths with the environment variable NAME""")
    relative_paths: bool = FILES("""
        --relative-paths: paths in a configuration file are relative to the folder of that file""")
