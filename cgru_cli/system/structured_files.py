"""Files of JSON and YAML, and bytes that may be compressed; what is wrong with one is a line."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

from ..errors import CgruError
from .atomic_files import atomic_write

MAX_BYTES = 1 << 30  # of a file, after decompression


def read_json(path: Path) -> dict:
    """A JSON file that holds an object.

    Raises CgruError naming the file, and the place of a mistake in it.
    """
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CgruError(f"{path}: not JSON ({error})") from None
    if not isinstance(values, dict):
        raise CgruError(f"{path}: a JSON object is expected")
    return values


def parse_yaml(content: bytes | str, source: str) -> dict:
    """YAML by the safe loader.

    Raises CgruError naming the source.
    """
    import yaml

    try:
        values = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise CgruError(f"{source}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(values, dict):
        raise CgruError(f"{source}: a set of names and values is expected")
    return values


def write_json(path: Path, values: Any) -> None:
    """Write JSON, whole or not at all."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, ensure_ascii=False, indent=1).encode("utf-8") + b"\n")


def read_bytes(path: str | os.PathLike[str], what: str, limit: int = MAX_BYTES) -> bytes:
    """The content of a file, decompressed if it is gzipped (seen from its first bytes).

    Raises CgruError when there is no such file, it is a folder or unreadable, its compression is
    damaged, or it holds more than `limit` bytes.
    """
    try:
        with open(path, "rb") as file:
            if file.read(2) == b"\x1f\x8b":
                file.seek(0)
                with gzip.GzipFile(fileobj=file) as unpacked:
                    data = unpacked.read(limit + 1)
            else:
                file.seek(0)
                data = file.read(limit + 1)
    except FileNotFoundError:
        raise CgruError(f"{path}: {what} not found") from None
    except IsADirectoryError:
        raise CgruError(f"{path}: is a folder, not a file ({what} expected)") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise CgruError(f"{path}: damaged or truncated gzip file") from None
    except (OSError, ValueError) as error:
        raise CgruError(f"{path}: cannot be read: {error}") from None
    if len(data) > limit:
        raise CgruError(f"{path}: more than {limit} bytes, too large for {what}")
    return data
