"""Options in a configuration file (`.yml` or `.json`): long names of options with values."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from ..errors import CgruError, parsing
from ..system.structured_files import LARGEST_CONFIGURATION, parse_json, parse_yaml, read_bytes
from .command_line import Settings
from .configured import ConfiguredOptions
from .flags import Flag, statements
from .similar_names import similar

_ABOUT_PATHS = ("relative-paths", "interpolate-env-vars")
_NO_FILES = ("", "-", "stdin", "stdout", "none", "temporary")


class ConfigFile(NamedTuple):
    """The content of a configuration file."""

    path: str
    values: dict[str, Any]  # by key, as written


def settings(file: ConfigFile, options: type, *, relative: bool = False) -> Settings:
    """The options that a file sets.

    A key is a long name of an option, with dashes or underscores; null stands for a missing key.
    relative: whether paths are relative to the file's folder even if the file does not say so.
    Raises CgruError, naming file and key, for keys that are unknown or given twice; other code
    checks the values later.
    """
    known = _known(options)
    path, pairs = file
    about = {_plain(key): value for key, value in pairs.items()}
    relative = relative or is_true(about.get("relative-paths"))
    found = Settings(interpolate=is_true(about.get("interpolate-env-vars")))
    seen = set()
    for key, value in pairs.items():
        if (plain := _plain(key)) in _ABOUT_PATHS:
            continue
        if plain not in known:
            raise no_such_option(path, key, options)
        name, flag = known[plain]
        if name in seen:
            raise CgruError(f"{path}: {key}: given twice, under two names")
        seen.add(name)
        if value is not None:
            found.origins[name] = f"{path}: {key}"
            _check_paths(value, flag, found.origins[name])
            shaped = flag.shaped(value)
            found.values[name] = beside(shaped, path) if relative and flag.is_path else shaped
    found.given = set(found.values)
    return found


def _check_paths(value: Any, flag: Flag, origin: str) -> None:
    if flag.is_path and flag.kind is str:
        values = value if isinstance(value, list) else [value]
        paths = values[:1] if "[" in flag.metavar else values  # FILE [FIRST [BEST ...
        if any(isinstance(one, int | float) for one in paths):
            raise CgruError(f"{origin} is {value!r}, where names of files are expected")


def no_such_option(path: str, key: str, options: type) -> CgruError:
    """The error message for a key that is not an option."""
    near = similar(_plain(key), _known(options), 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return CgruError(f"{path}: no such option: {key}{hint}")


def is_foreign(file: ConfigFile, options: type) -> bool:
    """Whether a file has another program's keys: Marian writes `models`, cgru `model`."""
    keys = set(map(_plain, file.values)) - {"config", "dump-config"}
    return "models" in keys or not keys <= {*_known(options), *_ABOUT_PATHS}


def is_true(value: Any) -> bool:
    """Whether a file's value switches an option on."""
    return str(value).lower() in ("true", "yes", "on", "1")


def beside(value: Any, path: str) -> Any:
    """Paths resolved relative to the folder of a configuration file."""
    if isinstance(value, tuple):
        return tuple(beside(one, path) for one in value)
    if not isinstance(value, str) or value in _NO_FILES:
        return value
    return os.path.join(os.path.dirname(path), value)


def dump(options: Any, names: Collection[str] | None = None, **decided: Any) -> str:
    """Options and chosen defaults as YAML for `load`; names: fields to include."""
    import yaml

    values: dict[str, Any] = {}
    if options.relative_paths and not options.config:  # the paths are as typed
        values["relative-paths"] = True
    for name, flag in _flags(type(options)):
        if flag.is_shown and (names is None or name in names):
            value = {**vars(options), **decided}[name]
            values[_keys(flag)[0]] = list(value) if isinstance(value, tuple) else value
    flow = None if any(isinstance(value, list) for value in values.values()) else False
    return yaml.safe_dump(
        values, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=math.inf
    )


def _flags(options: type) -> Iterator[tuple[str, Flag]]:
    for name, (flag, _) in statements(options).items():
        if name not in statements(ConfiguredOptions):
            yield name, flag


def _known(options: type) -> dict[str, tuple[str, Flag]]:
    return {key: (name, flag) for name, flag in _flags(options) for key in _keys(flag)}


def _keys(flag: Flag) -> list[str]:
    """The long names of an option, the primary name first."""
    names = (name for name in (*flag.flags, *flag.aliases) if name.startswith("--"))
    return [_plain(name) for name in names]


def _plain(key: str) -> str:
    return key.lstrip("-_").replace("_", "-")


def load(path: str) -> ConfigFile:
    """Read a file, which may be a pipe. Raises CgruError for an unreadable file."""
    import yaml

    with parsing(path, "not UTF-8"):
        content = read_bytes(path, "configuration file", LARGEST_CONFIGURATION, once=True).decode()
    if path.endswith(".json"):
        values = parse_json(content, path)
        if not isinstance(values, dict):
            raise CgruError(f"{path}: a set of names and values is expected")
        names = [name for name, _ in json.loads(content, object_pairs_hook=list)]
    elif all(not line or line.startswith("#") for line in map(str.strip, content.splitlines())):
        return ConfigFile(path, {})  # nothing but comments
    else:
        values = parse_yaml(content, path)
        root = yaml.compose(content, yaml.SafeLoader)
        names = [str(key.value) for key, _ in root.value] if root else []
    for name, count in Counter(names).items():
        if count > 1:
            raise CgruError(f"{path}: {name}: given twice")
    return ConfigFile(path, {str(key): value for key, value in values.items()})
