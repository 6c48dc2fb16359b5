"""The base of the dataclasses of options: values, checked alone and together."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..errors import UsageError
from .flags import Flag, applying, statements
from .scope import Scope


@dataclass(frozen=True)
class Options:
    """The options of a command; each command has a subclass with its fields.

    Raises UsageError, naming the option, for numbers out of bounds, invalid choices, missing
    required options, options that exclude each other, and values that do not fit together,
    whatever their origin.
    """

    def __post_init__(self) -> None:
        options: type = type(self)
        for name, (stated, default) in statements(options).items():
            if (value := getattr(self, name)) == default:
                continue
            try:
                for one in value if isinstance(value, tuple) else (value,):
                    if one is not None:
                        stated.check(one)
            except ValueError as error:
                raise UsageError(f"{stated.name} {error}") from None
        self._check_together()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Options with these values, which `Flag.read` has returned; the others have defaults.

        Raises UsageError for options that lack a required option, or exclude each other.
        """
        declared: type = cls
        options = object.__new__(cls)
        defaults = {name: default for name, (_, default) in statements(declared).items()}
        vars(options).update(defaults | dict(values))
        options._check_together()
        return options

    def replaced(self, **values: Any) -> Self:
        """These options with other values, which need no check. Raises UsageError like `of`."""
        return self.of(vars(self) | values)

    def _check_together(self) -> None:
        options: type = type(self)
        values = vars(self)
        for name, (stated, default) in statements(options).items():
            if (value := values[name]) == default:
                continue
            if stated.needs and (needed := lacking(options, stated, values)):
                raise UsageError(f"{stated.name} needs {needed}")
            excludes = stated.excludes and not stated.is_off(value, default)
            for excluded in stated.excludes if excludes else ():
                other, _, without = excluded.partition(" without ")
                both = _is_on(options, other, values)
                if both and not (without and _is_on(options, without, values)):
                    raise UsageError(f"{stated.name} and {excluded} exclude each other")
            try:
                if stated.together:
                    stated.together(value)
            except ValueError as error:
                raise UsageError(f"{stated.name} {error}") from None

    def shared(self) -> dict[str, Any]:
        """The values that determine the result on every machine, by field name."""
        own = applying(type(self), Scope.MACHINE)
        return {name: value for name, value in vars(self).items() if name not in own}

    def refuse(self, scope: Scope, reason: str) -> None:
        """Raises UsageError for an option of this scope whose value is not the default."""
        for _, stated in self.changed(scope):
            raise UsageError(f"{stated.name}: {reason}")

    def changed(self, scope: Scope | None = None) -> Iterator[tuple[str, Flag]]:
        """The options whose values differ from the declared defaults, by field name.

        scope: only the options that apply to it.
        """
        options: type = type(self)
        for name, (stated, default) in statements(options).items():
            applies = scope is None or stated.applies_to & scope
            if applies and getattr(self, name) != default:
                yield name, stated


def lacking(options: type, stated: Flag, values: Mapping[str, Any]) -> str:
    """The first option that `stated` needs and that is missing, "" if there is none.

    An option whose default depends on the training data may be on by default.
    """
    by_data = values.get("defaults") == "data" and not values.get("compat")
    for needed in stated.needs:
        if not any(_is_on(options, other, values, by_data) for other in needed.split(" or ")):
            return needed
    return ""


def _is_on(options: type, typed: str, values: Mapping[str, Any], by_data: bool = False) -> bool:
    """Whether an option is on or, in a text such as `--objective mrt`, has this value."""
    name, _, word = typed.partition(" ")
    field_name = _fields(options)[name]
    stated, default = statements(options)[field_name]
    if word:
        return values[field_name] is not None and str(values[field_name]).lower() == word.lower()
    may_be = by_data and bool(stated.by_data) and values[field_name] == default
    return may_be or not stated.is_off(values[field_name], default)


@functools.cache
def _fields(options: type) -> dict[str, str]:
    return {
        flag: name for name, (stated, _) in statements(options).items() for flag in stated.flags
    }
