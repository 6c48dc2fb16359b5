"""The properties of an option that a dataclass declares, and the checks of its values.

Flags, help texts, documentation tables and manual pages are generated from the option dataclasses.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..system.plain_numbers import plain_number
from .kinds import FREQUENCIES, Bounds, is_never
from .scope import Scope

AS_IN_MARIAN = "As in Marian"  # a group that only --help-all shows
# The groups of all commands, in the order of the help and the documentation.
_GROUPS = """
    Output, Description, Model and text, Address, Text, Training data, Model,
    Sub-words and vocabularies, Normalisation and tokens, Cleaning, Search, Output text, Scores,
    Batches, Optimiser, Learning rate, Dropout, Validation, End of training, Saving, Log,
    Objective, Minimum risk training, Initialisation, Sampling, Minimum Bayes risk, Attention,
    N-best lists, Metrics, Corpus filtering, Noisy channel, Limits, Access, Batching of requests,
    Use as a filter, Vocabularies of other programs, Devices and memory, General,
    As in Marian, Configuration files
"""
GROUPS = [*" ".join(_GROUPS.split()).split(", "), ""]
_KINDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number"}
_PATHS = re.compile("FILE|MODEL|DIR|SRC|COMMAND")  # placeholders of values that are paths


@dataclass(frozen=True)
class Flag:
    """The statement of one option.

    flags: names as typed; aliases: secondary names, accepted but not shown in the help; metavar:
    the placeholder of the value; kind: parses a value, raising ValueError if it is invalid;
    choices: the allowed values, in upper or lower case; many: takes one or several values, and may
    be repeated; joined: several values are the words of one text; implied: the value of the option
    if it is given without a value; needs: required options, each as typed (`--tune`, `--objective
    mrt`, `--tune or --rerank`); excludes: options that it cannot be combined with, each as typed
    (`--info`, `--objective mrt`, `--mbr without --mbr-n-best`); together: checks several values as
    a whole, raising ValueError; applies_to: scopes outside of which it is refused or not compared;
    by_data: describes the default that depends on the training data, if the declared default holds
    only with --compat or --defaults fixed; unless: options that also keep the declared default, if
    they are explicit; no_effect: the reason why an option of earlier versions has no effect,
    accepted with a note and not shown; gone: advice in place of an option of earlier versions,
    which ends with an error; former: choices of earlier versions, with advice.
    """

    help: str
    flags: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    metavar: str = ""
    kind: Callable[[str], Any] = str
    bounds: Bounds = Bounds()
    choices: tuple[str, ...] = ()
    many: bool = False
    joined: bool = False
    implied: Any = None
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    together: Callable[[Sequence[Any]], Any] | None = None
    applies_to: Scope = Scope.EVERYWHERE
    group: str = ""
    by_data: str = ""
    unless: tuple[str, ...] = ()
    no_effect: str = ""
    gone: str = ""
    former: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The long flag, for messages."""
        return next(flag for flag in self.flags if flag.startswith("--"))

    @property
    def is_shown(self) -> bool:
        """Whether this version has the option."""
        return not (self.no_effect or self.gone)

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value."""
        return self.kind is bool

    @property
    def is_number(self) -> bool:
        return self.kind in (int, float)

    @property
    def is_path(self) -> bool:
        """Whether the option takes paths."""
        return _PATHS.search(self.metavar) is not None

    @property
    def value_name(self) -> str:
        """The placeholder of the value in the help: `N`, `FILE...`, `a|b`, `[X]`, or nothing."""
        shown = "" if self.is_switch else self.metavar or "|".join(self.choices) or "VALUE"
        return shown if self.implied is None else f"[{shown}]"

    def typed(self, default: Any) -> str:
        """The option in the help, with its value and default: `-k, --beam-size K=5`."""
        value = self.value_name
        if (shown := shown_default(default)) and not self.by_data:
            value = f"{value if self.metavar else f'{{{value}}}'}={shown}"
        return " ".join(filter(None, (", ".join(self.flags), value)))

    @property
    def summary(self) -> str:
        """The first clause of the help, for the short help."""
        return re.split(r"[;:] | \(| if not given|, which ", self.help)[0]

    @property
    def description(self) -> str:
        """The help with choices, implied value, and required options."""
        text = self.help
        if self.metavar and not all(choice in self.help for choice in self.choices):
            text += f": {', '.join(self.choices)}"
        if self.implied is not None:
            text += f"; {self.implied} if given without a value"
        if self.by_data:
            text += f"; if not given, {self.by_data}"
        return text + (f"; needs {' and '.join(self.needs)}" if self.needs else "")

    @property
    def expected(self) -> str:
        """A description of the allowed values, for messages."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = _KINDS.get(self.kind, "text")
        if not self.is_number:
            return kind
        off = "" if self.bounds.off is None else f"{self.bounds.off:g}, or "
        return f"{off}{kind} {dataclasses.replace(self.bounds, off=None)}"

    def read(self, given: Any) -> Any:
        """Parse one value of the option, given as text or as a value of YAML or JSON.

        Raises ValueError, naming the allowed values, for any other value.
        """
        if self.gone:
            raise ValueError(f"{shown(given)}: {self.gone}")
        value = self._converted(given)
        self.check(value, given)
        return value

    def _converted(self, given: Any) -> Any:
        if self.choices and isinstance(given, bool):
            given = "on" if given else "off"  # YAML reads these words as booleans
        if self.choices and isinstance(given, str):
            return next((c for c in self.choices if c.lower() == given.lower()), given)
        if self.is_switch and type(given) is bool:
            return given
        if self.is_switch or type(given) not in (str, int, float):
            raise self._wrong(given)
        if not _can_be_typed(str(given)):  # a JSON string may contain other characters
            raise ValueError(
                f"{shown(given)}: text without zero bytes and lone surrogates is expected"
            )
        if not self.is_number:
            return self._of_kind(str(given))
        if self.kind is int and type(given) is float:
            raise self._wrong(given)
        try:
            return plain_number(self.kind, given) if isinstance(given, str) else self.kind(given)
        except (ValueError, OverflowError):
            raise self._wrong(given) from None

    def _wrong(self, given: Any) -> ValueError:
        advice = self.former.get(str(given).lower(), f"{self.expected} is expected")
        return ValueError(f"{shown(given)}: {advice}")

    def check(self, value: Any, given: Any = None) -> None:
        """Raises ValueError, naming the expected values, for any other value; given: as typed."""
        if self.choices:
            allowed = any(choice.lower() == str(value).lower() for choice in self.choices)
        elif self.is_number:
            allowed = value in self.bounds
        elif value == "" and self.kind is str:
            raise ValueError("'': the text is empty; give a value, or leave the option out")
        else:
            allowed = self.kind in (bool, str) or self._of_kind(str(value)) is not None
        if not allowed:
            raise self._wrong(value if given is None else given)

    def _of_kind(self, text: str) -> Any:
        try:
            return self.kind(text)
        except ValueError as error:
            raise ValueError(f"{shown(text)}: {error}") from None

    def shaped(self, value: Any) -> Any:
        """Convert values to the shape of the option: a tuple, one text, or the last value."""
        listed = isinstance(value, list | tuple)
        if self.joined:
            return " ".join(map(str, value)) if listed else value
        if self.many:
            return tuple(value) if listed else (value,)
        if isinstance(value, tuple):
            return value[-1] if value else None
        return value

    def is_off(self, value: Any, default: Any) -> bool:
        """Whether a value turns the option off: None, False, 0, or a frequency of 0.

        For an option whose default is None, 0 is an ordinary value.
        """
        if default is None:
            return value is None
        if self.kind in FREQUENCIES:
            return is_never(value)
        return value is False or value == () or value == 0


def _can_be_typed(text: str) -> bool:
    """Whether a text can be a command-line argument, and thus a file name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def shown(value: Any) -> str:
    """A value, formatted for messages."""
    plain = isinstance(value, str) and value.isprintable() and value and value == value.strip()
    text = value if plain else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@functools.cache
def statements(options: type) -> dict[str, tuple[Flag, Any]]:
    """Each option of a dataclass: its flag and its default, by field name."""
    return {f.name: (f.metadata["flag"], f.default) for f in dataclasses.fields(options)}


@functools.cache
def by_data(options: type) -> frozenset[str]:
    """The fields whose defaults depend on the training data."""
    return frozenset(name for name, (stated, _) in statements(options).items() if stated.by_data)


def applying(options: type, scope: Scope) -> dict[str, Flag]:
    """The options of a scope, by field name."""
    stated = statements(options).items()
    return {name: flag for name, (flag, _) in stated if flag.applies_to & scope}


def flag(options: type, name: str) -> str:
    """The option of a field, as typed."""
    return statements(options)[name][0].name


def shown_default(default: Any) -> str:
    """A default, formatted for help and documentation; "" if there is none."""
    if isinstance(default, tuple):
        return " ".join(map(str, default))
    return "" if default is None or default is False else str(default)


@functools.cache
def effective(options: type) -> dict[str, tuple[Flag, Any]]:
    """The statements of the options that have an effect."""
    return {name: s for name, s in statements(options).items() if s[0].is_shown}


def grouped(options: type) -> Iterator[tuple[str, list[tuple[Flag, Any]]]]:
    """The groups of a command in order: title, then flags and defaults."""
    stated = effective(options).values()
    for group in GROUPS:
        if members := [s for s in stated if s[0].group == group]:
            yield group, members
