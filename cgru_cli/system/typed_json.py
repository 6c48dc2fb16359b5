"""Dataclasses out of JSON, their fields' names and types checked."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from ..errors import CgruError

Dataclass = TypeVar("Dataclass")
LATER = {"later": True}  # metadata of a field that was added to a class and has a default


def dataclass_from_json(
    cls: type[Dataclass], data: Any, source: str | os.PathLike[str], advice: str = ""
) -> Dataclass:
    """A dataclass out of the JSON that `dataclasses.asdict` of it became.

    The data must have every field and no other (of `LATER`, which older files lack, those that it
    has), and each value the field's type: a whole number
    is no boolean, a number is finite. Fields may be bool, int, float, str, Any, a Literal, an
    enumeration, a dataclass, a named tuple, a tuple, list or dict of these, or None beside one.
    A dataclass refuses other values by a ValueError in `__post_init__`. advice: what to do then.
    Raises CgruError in one line that names the source and the place in it.
    """
    try:
        return _dataclass(cls, data, "")
    except _Mismatch as mismatch:
        raise CgruError(
            f"{source}: damaged: {mismatch}" + (f"; {advice}" if advice else "")
        ) from None


class _Mismatch(Exception):
    """A value that is not of its field's type."""

    def __init__(self, place: str, problem: str):
        super().__init__(f"{place}: {problem}" if place else problem)


_KINDS = {bool: "true or false", int: "a whole number", str: "a text"}


def _expected(what: str, value: Any, place: str) -> _Mismatch:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return _Mismatch(place, f"{what} is expected, not {shown}")


def _dataclass(cls: type, data: Any, place: str) -> Any:
    if not isinstance(data, Mapping):
        raise _expected("an object of names and values", data, place)
    kinds = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    names = [field.name for field in fields if field.name in data or field.metadata != LATER]
    for name in names:
        if name not in data:
            raise _Mismatch(place, f"{name} is missing")
    for name in data:
        if name not in names:
            raise _Mismatch(place, f"{name!r:.60} is not known")
    values = {name: _value(kinds[name], data[name], _inside(place, name)) for name in names}
    try:
        return cls(**values)
    except ValueError as error:
        raise _Mismatch(place, str(error)) from None


def _value(kind: Any, value: Any, place: str) -> Any:
    """A value as its type has it. Raises _Mismatch for one of another type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        (kind,) = (argument for argument in arguments if argument is not types.NoneType)
        return _value(kind, value, place)
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in arguments):
            raise _expected(" or ".join(map(repr, arguments)), value, place)
        return value
    if kind is float:
        if type(value) is not int and not (type(value) is float and math.isfinite(value)):
            raise _expected("a finite number", value, place)
        return value
    if kind in _KINDS:
        if type(value) is not kind:
            raise _expected(_KINDS[kind], value, place)
        return value
    if origin in (tuple, list):
        return origin(_items(arguments, value, place))
    if origin is dict:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise _expected("an object of names and values", value, place)
        return {name: _value(arguments[1], v, _inside(place, name)) for name, v in value.items()}
    if issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            choices = " or ".join(repr(choice.value) for choice in kind)
            raise _expected(choices, value, place) from None
    if issubclass(kind, tuple):  # a named one
        return kind(*_items(tuple(typing.get_type_hints(kind).values()), value, place))
    return _dataclass(kind, value, place)


def _items(kinds: tuple, value: Any, place: str) -> list:
    """The values of a list, of one type if there is but one or `...` follows it, or of one each."""
    if not isinstance(value, (list, tuple)):
        raise _expected("a list", value, place)
    if len(kinds) == 1 or kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(value) != len(kinds):
        raise _expected(f"a list of {len(kinds)}", value, place)
    return [
        _value(kind, item, f"{place}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    ]


def _inside(place: str, name: str) -> str:
    name = name if name.isidentifier() else f"{name!r:.60}"
    return f"{place}.{name}" if place else name
