"""Read untrusted files: JSON, YAML, and bytes that may be compressed.

Sizes are checked before parsing, and every parser error becomes a message of one line that names
the file.
"""

import gzip
import hashlib
import io
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, Self

from ..errors import CgruError, parsing, reading
from .atomic_files import atomic_write
from .file_kinds import check_kind

LARGEST = 1 << 30  # bytes of a file to read as a whole, after decompression
LARGEST_CONFIGURATION = 1 << 24  # bytes of a model's JSON; real files have some thousands
LARGEST_YAML = 1 << 20  # bytes of YAML, whose parser is slow
MOST_YAML_EVENTS = 100_000  # names and values, and the beginnings and ends of collections
_ODD_NUMBER = re.compile(r"[-+]?\d[\d_]*_[\d_]*(\.[\d_]*)?|[-+]?\d+\.\d*_[\d_]*")
DEEPEST = 100  # levels of nested lists and mappings
LONGEST_NUMBER = 40  # digits of a whole number


def sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal. Raises CgruError."""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: str | os.PathLike[str], largest: int = LARGEST_CONFIGURATION) -> dict:
    """Read a JSON file with an object. Raises CgruError, naming file and place of the error."""
    with reading(path):
        content = first_bytes(path, largest)
    check_kind(content, path, what="configuration")
    values = parse_json(content, f"{path}", largest)
    if not isinstance(values, dict):
        raise CgruError(f"{path}: a JSON object is expected")
    return values


def parse_json(
    content: bytes | str,
    source: str,
    largest: int = LARGEST_CONFIGURATION,
    *,
    unique_keys: bool = False,
) -> Any:
    """Parse JSON. Raises CgruError, naming the source, also for long numbers and lone surrogates.

    unique_keys: reject objects with repeated keys; otherwise the last value counts.
    """
    if len(content) > largest:
        raise CgruError(f"{source}: more than {largest} bytes, too large to be read")
    with parsing(source, "not JSON"):
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        pairs_hook = _unique if unique_keys else None
        values = json.loads(text, parse_int=_whole, object_pairs_hook=pairs_hook)
        check_text(values)
    return values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {key!r} is repeated")
        values[key] = value
    return values


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def check_text(values: Any) -> None:
    """Raise ValueError for text with a lone surrogate, which UTF-8 cannot represent."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, str):
            value.encode("utf-8")


def parse_yaml(content: bytes | str, source: str) -> dict:
    """Parse YAML of names and values, with the safe loader.

    Aliases may stand only for text and numbers, because a few nested aliases of lists can expand to
    more than memory holds. Raises CgruError, naming the source.
    """
    import yaml

    if len(content) > LARGEST_YAML:
        raise CgruError(f"{source}: more than {LARGEST_YAML} bytes, too large for a configuration")
    with parsing(source, "not YAML"):
        _check_events(content)
        values = yaml.safe_load(content)
        check_text(values)
    if not isinstance(values, dict):
        raise CgruError(f"{source}: a set of names and values is expected")
    return values


def read_yaml(path: str | os.PathLike[str]) -> dict:
    """Read a YAML file of names and values. Raises CgruError, naming the file."""
    with reading(path):
        content = first_bytes(path, LARGEST_YAML)
    check_kind(content, path, what="configuration")
    return parse_yaml(content, f"{path}")


def _check_events(content: bytes | str) -> None:
    """Check the size and depth of a YAML text by its events, whose parsing needs no recursion.

    Raises ValueError, or the parser's errors.
    """
    import yaml

    scalars: set[str] = set()  # anchors of text and numbers
    depth = 0
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for count, event in enumerate(yaml.parse(content, Loader=loader)):
        if count > MOST_YAML_EVENTS:
            raise ValueError(f"more than {MOST_YAML_EVENTS} names and values")
        if isinstance(event, yaml.CollectionStartEvent):
            scalars.discard(event.anchor)
            depth += 1
            if depth > DEEPEST:
                raise ValueError(f"lists and mappings nest deeper than {DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in scalars:
                raise ValueError(f"*{event.anchor} stands for a list or mapping; write it out")
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor:
                scalars.add(event.anchor)
            if not event.style and _ODD_NUMBER.fullmatch(event.value):
                raise ValueError(
                    f"{event.value} is a number in YAML; write it without _, or as text"
                )
            digits = len(event.value)
            if digits > 2 * LONGEST_NUMBER and not event.value.strip("+-0123456789:_.eE"):
                raise ValueError(f"a number of {digits} digits")


def write_json(path: str | Path, values: Any) -> None:
    """Write a JSON file atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, ensure_ascii=False, indent=1).encode("utf-8") + b"\n")


class StoredFile(str):
    """The path of a file inside another file, such as model.onnx/vocab.spm."""

    content: bytes

    @classmethod
    def of(cls, path: str, content: bytes) -> Self:
        stored = cls(path)
        stored.content = content
        return stored


def read_bytes(
    path: str | os.PathLike[str], what: str, limit: int = LARGEST, *, once: bool = False
) -> bytes:
    """The content of a file, decompressed if it begins like gzip.

    once: whether the file is read only once, so that it may be a pipe. Raises CgruError for a
    missing or unreadable file, a folder, damaged compression, and more than `limit` bytes.
    """
    if os.path.isdir(path):
        raise CgruError(f"{path}: is a folder, not a file ({what} expected)")
    if not (isinstance(path, StoredFile) or os.path.exists(path)):
        raise CgruError(f"{path}: {what} not found")
    with reading(path):
        data = first_bytes(path, limit, once=once)
    if len(data) > limit:
        raise CgruError(f"{path}: more than {limit} bytes, which is too large ({what} expected)")
    if what != "document":  # which may be a .docx or a web page
        check_kind(data, path, what=what)
    return data


def check_no_pipe(path: str | os.PathLike[str]) -> None:
    """Raise CgruError for a pipe or a device, which cannot be read twice and may never end."""
    with reading(path):
        mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise CgruError(
            f"{path}: is a pipe or a device, and it is read more than once; name a file"
        )


def first_bytes(path: str | os.PathLike[str], limit: int, *, once: bool = False) -> bytes:
    """The bytes of a file, decompressed, but at most limit + 1; once: it may be a pipe.

    Raises OSError, and the errors of gzip, which `errors.reading` turns into messages.
    """
    opened: io.BufferedReader[Any]
    if isinstance(path, StoredFile):
        opened = io.BufferedReader(io.BytesIO(path.content))
    else:
        if not once:
            check_no_pipe(path)
        opened = open(path, "rb")  # noqa: SIM115 - closed below
    with opened as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        stream = gzip.GzipFile(fileobj=file) if packed else file
        blocks, size = [], 0  # not read(limit), which allocates `limit` bytes
        while size <= limit and (block := stream.read(min(1 << 20, limit + 1 - size))):
            blocks.append(block)
            size += len(block)
        return b"".join(blocks)
