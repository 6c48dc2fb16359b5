"""Rewrite a command line for click, with one value per flag; hold the option values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import UsageError
from ..system.plain_numbers import is_number
from .flags import Flag, statements

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BOOLEANS = ("true", "false", "yes", "no", "on", "off")


@dataclass
class Settings:
    """Values by field of a command's options.

    given: fields that the command line or a configuration file sets (other fields have defaults of
    the --compat program); typed: fields that the command line sets; origins: the source of each
    value, an option as typed, or a file and its key; rest: words for click to parse; notes: options
    without effect, with reasons; interpolate: whether ${NAME} in paths stands for an environment
    variable; in_own_names: returns the options under the --compat program's names, for a form of
    --dump-config; native: whether the defaults are cgru's, not another program's.
    """

    native: ClassVar[bool] = True

    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    origins: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    interpolate: bool = False
    in_own_names: Callable[[str], Mapping[str, Any]] | None = None

    @property
    def stated(self) -> set[str] | None:
        """The given fields; None if another program determines the defaults."""
        return self.given if self.native else None

    def override(self, later: Settings) -> None:
        """Let the options of a later file, or of the command line, override these."""
        self.values |= later.values
        self.given |= later.given
        self.origins |= later.origins
        self.notes += later.notes
        self.interpolate |= later.interpolate

    @property
    def noted(self) -> str:
        """A message that lists options without effect, grouped by reason; "" without any."""
        by_reason: dict[str, list[str]] = {}
        for origin, reason in self.notes:
            by_reason.setdefault(reason, []).append(origin)
        parts = [f"{', '.join(dict.fromkeys(by))} ({reason})" for reason, by in by_reason.items()]
        return f"without effect here: {'; '.join(parts)}" if parts else ""


def is_flag(word: str) -> bool:
    """Whether a word is an option rather than a value; -0.5 and - are values."""
    return word.startswith("-") and word != "-" and not is_number(word)


def one_value_each(words: Sequence[str], options: type) -> list[str]:
    """Repeat the flag before each of its values, `--model=a --model=b`.

    click takes one value per flag, even if the value is the next option. An underscore in a long
    name stands for a dash. Raises UsageError for an option without its value, for a switch with a
    value, and for different values under two names of an option.
    """
    known = {
        name.replace("_", "-"): flag
        for flag, _ in statements(options).values()
        for name in (*flag.flags, *flag.aliases)
    }
    seen: dict[str, tuple[str, list[str]]] = {}
    result: list[str] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word == "--":
            return [*result, word, *pending]
        typed, equals, attached = word.partition("=")
        flag = known.get(typed.replace("_", "-"))
        if flag is None:
            result.append(word)
            continue
        if flag.is_switch:
            given = attached if equals else pending[0] if pending else ""
            if equals or given.lower() in _BOOLEANS:
                raise UsageError(f"{typed} {given}: {typed} takes no value")
            result.append(flag.name)
            continue
        values = _values(flag, typed, [attached] if equals else [], pending)
        before, earlier = seen.setdefault(flag.name, (typed, values))
        if before != typed and earlier != values and not flag.many:
            raise UsageError(f"{before} {earlier[0]} and {typed} {values[0]} are the same option")
        result += [f"{flag.name}={value}" for value in values]
    return result


def _values(flag: Flag, typed: str, values: list[str], pending: list[str]) -> list[str]:
    while pending and (flag.many or not values) and not is_flag(pending[0]):
        values.append(pending.pop(0))
    if not values and pending and "--" in flag.metavar and set("= ") & set(pending[0]):
        return [pending.pop(0)]  # a value that contains options of another program
    if not values and flag.implied is None:
        what = f" is expected, and {pending[0]} is an option" if pending else ""
        raise UsageError(f"{typed} lacks its value: {typed} {flag.value_name}{what}")
    return [" ".join(values)] if values and flag.joined else values or [str(flag.implied)]


def interpolated(value: Any, origin: str) -> Any:
    """Paths with `${NAME}` replaced. Raises UsageError for a variable that is not set."""
    if isinstance(value, tuple):
        return tuple(interpolated(one, origin) for one in value)
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UsageError(f"{origin} {value}: the environment has no variable {match[1]}")
        return os.environ[match[1]]

    if value and not (path := _VARIABLE.sub(variable, value)):
        raise UsageError(f"{origin} '': the text is empty; give a value, or leave the option out")
    return path if value else value


def by_origin(message: str, options: type, origins: Mapping[str, str]) -> str:
    """The message, with options under the names that the user wrote."""
    written = {statements(options)[name][0].name: origin for name, origin in origins.items()}
    return re.sub(r"--[\w-]*\w", lambda match: written.get(match[0], match[0]), message)
