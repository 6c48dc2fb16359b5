"""Options of a training in a file: `.yml` or `.json`, keys as the options are named.

A key is a long option's name, of this program, Marian or Nematus, dashes or underscores alike.
"""

from __future__ import annotations

import difflib
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..errors import CgruError, parsing, reading
from ..system.structured_files import parse_json, parse_yaml
from .flags import Flag, statements

_NOT_IN_FILES = ("config", "dump_config", "interpolate_env_vars", "relative_paths")


def read(
    path: str, options: type, others: Callable[[str], bool] = lambda _key: False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that a file gives to options, by field name, and those that are other programs'.

    null is as if the key were not there; others: whether another program has an option of this
    name. Raises CgruError, naming file and key, for keys that are unknown or named twice; values
    are checked by whoever takes them.
    """
    known = {key: (name, flag) for name, flag in _flags(options) for key in _keys(flag)}
    values: dict[str, Any] = {}
    foreign: dict[str, Any] = {}
    for key, value in _pairs(path):
        plain = _plain(key)
        if plain not in known:
            if others(key):
                foreign[key] = value
                continue
            near = difflib.get_close_matches(plain, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CgruError(f"{path}: no such option: {key}{hint}")
        name, flag = known[plain]
        if name in values:
            raise CgruError(f"{path}: {key}: given twice, under two names")
        several = flag.many and not isinstance(value, list) and value is not None
        values[name] = [value] if several else value
    return {name: value for name, value in values.items() if value is not None}, foreign


def dump(options: Any, names: Collection[str] | None = None) -> str:
    """Options in force as YAML, which `read` reads back; only these, where names are given."""
    import yaml

    values = {}
    for name, flag in _flags(type(options)):
        if names is not None and name not in names:
            continue
        value = getattr(options, name)
        values[_keys(flag)[0]] = list(value) if isinstance(value, tuple) else value
    flow = None if any(isinstance(value, list) for value in values.values()) else False
    return yaml.safe_dump(
        values, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=math.inf
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
    with parsing(path, "not UTF-8"), reading(path), open(path, encoding="utf-8") as file:
        content = file.read()
    pairs = _json(content, path) if path.endswith(".json") else _yaml(content, path)
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise CgruError(f"{path}: {twice[0]}: given twice")
    return pairs


def _json(content: str, path: str) -> list[tuple[str, Any]]:
    class Pairs(list):
        pass

    parse_json(content, path)
    pairs = json.loads(content, object_pairs_hook=Pairs)
    if not isinstance(pairs, Pairs):
        raise CgruError(f"{path}: a set of names and values is expected")
    return pairs


def _yaml(content: str, path: str) -> list[tuple[str, Any]]:
    import yaml

    if all(not line or line.startswith("#") for line in map(str.strip, content.splitlines())):
        return []  # nothing but comments
    values = parse_yaml(content, path)
    root = yaml.compose(content, yaml.SafeLoader)
    names = [key.value for key, _ in root.value] if root else []
    if len(names) > len(values):
        twice = next(name for name, count in Counter(map(str, names)).items() if count > 1)
        raise CgruError(f"{path}: {twice}: given twice")
    return [(str(key), value) for key, value in values.items()]
