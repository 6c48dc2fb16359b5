"""Options of a training in a file: `.yml` or `.json`, keys as the options are named.

A key is a long option's name, of this program, Marian or Nematus, dashes or underscores alike.
"""

from __future__ import annotations

import difflib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import CgruError
from ..system.structured_files import parse_yaml
from .flags import Flag, statements

_NOT_IN_FILES = ("config", "dump_config")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def read(path: str, options: type, refused: Mapping[str, str]) -> dict[str, Any]:
    """The options that a file gives, by field name; null is as if the key were not there.

    Raises CgruError, naming file and key, for keys that are unknown, refused or named twice, and
    for values of the wrong kind.
    """
    known = {key: (name, flag) for name, flag in _flags(options) for key in _keys(flag)}
    reasons = {_plain(flag): reason for flag, reason in refused.items()}
    found: dict[str, Any] = {}
    for key, value in _pairs(path):
        plain = _plain(key)
        if plain in reasons:
            raise CgruError(f"{path}: {key} cannot be honoured: {reasons[plain]}")
        if plain not in known:
            near = difflib.get_close_matches(plain, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CgruError(f"{path}: no such option: {key}{hint}")
        name, flag = known[plain]
        if name in found:
            raise CgruError(f"{path}: {key}: given twice, under two names")
        found[name] = value if value is None else _value(flag, value, f"{path}: {key}")
    return {name: value for name, value in found.items() if value is not None}


def dump(options: Any) -> str:
    """Options in force as YAML, which `read` reads back."""
    import yaml

    values = {}
    for name, flag in _flags(type(options)):
        value = getattr(options, name)
        values[_keys(flag)[0]] = list(value) if isinstance(value, tuple) else value
    return yaml.safe_dump(
        values, sort_keys=False, allow_unicode=True, default_flow_style=None, width=math.inf
    )


def _flags(options: type) -> Iterator[tuple[str, Flag]]:
    for name, (flag, _) in statements(options).items():
        if name not in _NOT_IN_FILES:
            yield name, flag


def _keys(flag: Flag) -> list[str]:
    """The long names of an option, the first its own."""
    names = (name for name in (*flag.flags, *flag.aliases) if name.startswith("--"))
    return [_plain(name) for name in names]


def _plain(key: str) -> str:
    return key.lstrip("-_").replace("_", "-")


def _pairs(path: str) -> list[tuple[str, Any]]:
    """Keys and values of a file. Raises CgruError for one that cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read()
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CgruError(f"{path}: not UTF-8 ({error.reason})") from None
    pairs = _json(content, path) if path.endswith(".json") else _yaml(content, path)
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise CgruError(f"{path}: {twice[0]}: given twice")
    return pairs


def _json(content: str, path: str) -> list[tuple[str, Any]]:
    class Pairs(list):
        pass

    try:
        pairs = json.loads(content, object_pairs_hook=Pairs)
    except (ValueError, RecursionError) as error:
        raise CgruError(f"{path}: not JSON ({error})") from None
    if not isinstance(pairs, Pairs):
        raise CgruError(f"{path}: a set of names and values is expected")
    return pairs


def _yaml(content: str, path: str) -> list[tuple[str, Any]]:
    import yaml

    if all(not line or line.startswith("#") for line in map(str.strip, content.splitlines())):
        return []  # nothing but comments
    values = parse_yaml(content, path)
    names = [key.value for key, _ in yaml.compose(content, yaml.SafeLoader).value]
    if len(names) > len(values):
        twice = next(name for name, count in Counter(map(str, names)).items() if count > 1)
        raise CgruError(f"{path}: {twice}: given twice")
    return [(str(key), value) for key, value in values.items()]


def _value(flag: Flag, value: Any, where: str) -> Any:
    if flag.many:
        values = value if isinstance(value, list) else [value]
        return tuple(_single(flag, one, where) for one in values)
    return _single(flag, value, where)


def _single(flag: Flag, value: Any, where: str) -> Any:
    """One value, as the command line would give it. Raises CgruError for another kind."""
    if flag.choices:
        if isinstance(value, bool):
            value = "on" if value else "off"  # as YAML reads these words
        if value not in flag.choices:
            raise CgruError(f"{where}: {value!r} is not one of {', '.join(flag.choices)}")
        return value
    kind = type(value)
    if flag.kind is str and kind in (int, float):
        return str(value)
    if flag.kind is float and kind in (int, str):  # YAML reads 1e-4 as text
        try:
            value = float(value)
        except (ValueError, OverflowError):
            raise CgruError(f"{where}: {value!r} is not a number") from None
    if type(value) is not flag.kind:
        raise CgruError(f"{where}: {value!r} is not {_KINDS[flag.kind]}")
    if flag.kind is float and not math.isfinite(value):
        raise CgruError(f"{where}: {value!r} is not a finite number")
    return value
