"""Versions of cgru and of the packages that compute, and the processor's instructions."""

import importlib
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from .. import __version__
from ..errors import CgruError

PROCESSOR = "/proc/cpuinfo"  # of Linux
# For each type of numbers: the processor's instructions that compute with it, best first.
_INSTRUCTIONS = {
    "float32": ("avx512f", "avx2", "avx"),
    "bfloat16": ("amx_bf16", "avx512_bf16"),
    "int8": ("amx_int8", "avx512_vnni", "avx_vnni"),
}


def installed(module: str, extra: str) -> Any:
    """A module that comes with an extra of cgru. Raises CgruError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise CgruError(f"{package} is not installed: pip install 'cgru[{extra}]'") from None


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _abilities() -> Iterator[str]:
    """Each type of numbers, and the instructions of this processor for it."""
    try:
        with open(PROCESSOR, encoding="utf-8", errors="replace") as file:
            stated = re.search(r"^flags\s*:(.*)$", file.read(), re.M)
    except OSError:
        stated = None
    if stated is None:
        yield "instructions unknown on this system"
        return
    has = set(stated[1].split())
    for kind, instructions in _INSTRUCTIONS.items():
        yield f"{kind} {next((one for one in instructions if one in has), 'none')}"


def described() -> str:
    """Versions and instructions as lines of text. TensorFlow is not imported."""
    packages = {"TensorFlow": "tensorflow", "Keras": "keras", "NumPy": "numpy"}
    versions = [f"{title} {_version_of(name)}" for title, name in packages.items()]
    return (
        f"cgru, version {__version__}\n"
        f"{', '.join([f'Python {platform.python_version()}', *versions])}\n"
        f"{platform.system()} {platform.machine()}: {', '.join(_abilities())}"
    )
