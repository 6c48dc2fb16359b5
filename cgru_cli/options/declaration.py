"""How a dataclass declares an option: its line of help, its values, and its default."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from .flags import Flag, statements
from .kinds import Bounds, one_frequency


def option(
    text: str,
    values: Mapping[str, Any] | None = None,
    *,
    needs: str = "",
    excludes: str = "",
    group: str = "",
) -> Any:
    """A dataclass field that is an option.

    text: `-k --beam-size K (--secondary-name ...): help`. An option whose placeholder has `...` or
    several words takes several values; one without a placeholder and values is a switch. values:
    their kind and the default, from a function below; needs: options separated by `and`; excludes:
    options separated by commas.
    """
    head, _, help = text.partition(": ")
    head, _, names = head.partition(" (")
    words = head.split(" ")
    flags = tuple(itertools.takewhile(lambda word: word.startswith("-"), words))
    metavar = " ".join(words[len(flags) :])
    if values is None:
        values = {} if metavar else {"kind": bool}
    many = not metavar.startswith("'") and ("..." in metavar or " " in metavar)
    known = dict(values)
    default = known.pop("default", () if many and "joined" not in values else None)
    if known.get("kind") is bool:
        default = False
    flag = Flag(
        help,
        flags,
        tuple(names.rstrip(")").split()),
        metavar,
        many=many,
        needs=tuple(needs.split(" and ")) if needs else (),
        excludes=tuple(excludes.split(", ")) if excludes else (),
        group=group,
        **known,
    )
    return field(default=default, metadata={"flag": flag})


def whole(least: int | None, most: int, *, off: int | None = None, **more: Any) -> dict[str, Any]:
    """Values that are integers from least to most, or `off`."""
    return {"kind": int, "bounds": Bounds(least, most, off=off)} | more


def number(
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    off: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Values that are numbers from least to most, or above `above` and below `below`, or `off`."""
    return {"kind": float, "bounds": Bounds(least, most, above, below, off)} | more


def probability(default: float | None, **more: Any) -> dict[str, Any]:
    """Values that are probabilities below 1."""
    return number(0, below=1, default=default, **more)


def choice(*choices: str, **more: Any) -> dict[str, Any]:
    """Values from a list of words."""
    return {"choices": choices} | more


def read_by(kind: Callable[[str], Any], **more: Any) -> dict[str, Any]:
    """Values that a function parses; more: the fields default, implied and joined of `Flag`."""
    return {"kind": kind} | more


def frequency(default: str | None, **more: Any) -> dict[str, Any]:
    """Values such as 500u, 2e or 30m."""
    return read_by(one_frequency, default=default, **more)


def same(options: type, name: str, *, excludes: tuple[str, ...] | None = None) -> Any:
    """A dataclass field that reuses the declaration of another command's option.

    excludes: the options that it excludes in this command, if they differ.
    """
    stated, default = statements(options)[name]
    if excludes is not None:
        stated = dataclasses.replace(stated, excludes=excludes)
    return field(default=default, metadata={"flag": stated})


def options_of(group: str, *, needs: str = "", excludes: str = "") -> Callable[..., Any]:
    """`option` for the options of one group, which all need or exclude others."""
    return functools.partial(option, group=group, needs=needs, excludes=excludes)


computing_option = options_of("Devices and memory")


def device_option() -> Any:
    """The option --device."""
    return computing_option(
        "--device cpu|gpu[:N]: device to compute on; a GPU if there is one, else the CPU, if not "
        "given"
    )


def threads_option() -> Any:
    """The option --cpu-threads."""
    return computing_option(
        "--cpu-threads N: threads to compute with; all processors if not given", whole(1, 4096)
    )
