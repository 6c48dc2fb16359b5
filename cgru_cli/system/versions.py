"""Versions of cgru and its packages, the processor's instructions, and optional packages."""

import importlib
import re
from typing import Any

from .. import __version__
from ..errors import NotInstalled

PROCESSOR = "/proc/cpuinfo"  # of Linux
# For each type of numbers: the processor's instructions for it, best first; x86's, then Arm's.
_INSTRUCTIONS = {
    "float32": ("avx512f", "avx2", "avx", "asimd"),
    "bfloat16": ("amx_bf16", "avx512_bf16", "bf16"),
    "int8": ("amx_int8", "avx512_vnni", "avx_vnni", "i8mm", "asimddp"),
}


def installed(module: str, extra: str = "") -> Any:
    """Import a module of an extra of cgru, or one that only some installations have.

    Raises NotInstalled if it is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        advice = f"'cgru[{extra}]'" if extra else package
        raise NotInstalled(f"{package} is not installed: pip install {advice}") from None


def _version_of(package: str) -> str:
    from importlib import metadata  # slow to import

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def instructions() -> dict[str, str]:
    """This processor's best instructions for each type of numbers, "none" without any.

    The result is empty if they are unknown.
    """
    try:
        with open(PROCESSOR, encoding="utf-8", errors="replace") as file:
            stated = re.search(r"^(?:flags|Features)\s*:(.*)$", file.read(), re.M)
    except OSError:
        stated = None
    has = set(stated[1].split()) if stated else set()
    return {
        kind: next((one for one in names if one in has), "none")
        for kind, names in _INSTRUCTIONS.items()
        if stated
    }


def described() -> str:
    """Versions and instructions as lines of text, without importing TensorFlow."""
    import platform

    packages = {"TensorFlow": "tensorflow", "Keras": "keras", "ONNX Runtime": "onnxruntime"}
    packages["NumPy"] = "numpy"
    abilities = [" ".join(pair) for pair in instructions().items()]
    versions = [f"{title} {_version_of(name)}" for title, name in packages.items()]
    return (
        f"cgru, version {__version__}\n"
        f"{', '.join([f'Python {platform.python_version()}', *versions])}\n"
        f"{platform.system()} {platform.machine()}: "
        f"{', '.join(abilities) or 'instructions unknown on this system'}"
    )
