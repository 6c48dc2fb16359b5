"""Declare an option in a dataclass: the range of its values, its default, and its line of help.

depth: int = MODEL.whole(1, 9, default=2)("--depth N: number of levels")
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .flags import Flag, statements
from .kinds import Bounds
from .scope import Scope

Declaration = Callable[[str], Any]  # from the option's line of help to its field


@dataclass(frozen=True)
class Group:
    """A group of options; its methods declare options by the kind of their values.

    needs, excludes: for options that declare none; applies_to: for all options of the group. Called
    with a line of help, a group declares a switch, or an option with text values.
    """

    title: str
    needs: str = ""
    excludes: str | Sequence[str] = ""
    applies_to: Scope = Scope.EVERYWHERE

    def __call__(self, text: str) -> Any:
        return self.values()(text)

    def values(
        self,
        kind: Callable[[str], Any] | None = None,
        *,
        needs: str | Sequence[str] = (),
        excludes: str | Sequence[str] = (),
        unless: str | Sequence[str] = (),
        applies_to: Scope = Scope.EVERYWHERE,
        **of: Any,
    ) -> Declaration:
        """Values that `kind` parses; of: the default, and further fields of `Flag`.

        The line of help is `-k --beam-size K (--secondary-name ...): help`. An option whose
        placeholder has `...` or several words takes several values; an option without a
        placeholder, kind and choices is a switch.
        """

        def declared(text: str) -> Any:
            head, _, help = " ".join(text.split()).partition(": ")
            head, _, names = head.partition(" (")
            words = head.split(" ")
            flags = tuple(itertools.takewhile(lambda word: word.startswith("-"), words))
            metavar = " ".join(words[len(flags) :])
            many = not metavar.startswith("'") and ("..." in metavar or " " in metavar)
            is_switch = not (metavar or kind or "choices" in of)
            default = False if is_switch else () if many and "joined" not in of else None
            flag = Flag(
                help,
                flags,
                tuple(names.rstrip(")").split()),
                metavar,
                bool if is_switch else kind or str,
                many=many,
                needs=_several(needs or self.needs),
                excludes=_several(excludes or self.excludes),
                unless=_several(unless),
                applies_to=self.applies_to | applies_to,
                group=self.title,
                **{name: value for name, value in of.items() if name != "default"},
            )
            return field(default=of.get("default", default), metadata={"flag": flag})

        return declared

    def whole(
        self, least: int | None, most: int, *, off: int | None = None, **of: Any
    ) -> Declaration:
        """Values that are integers from least to most, or `off`."""
        return self.values(int, bounds=Bounds(least, most, off=off), **of)

    def number(
        self,
        least: float | None = None,
        most: float | None = None,
        *,
        above: float | None = None,
        below: float | None = None,
        off: float | None = None,
        **of: Any,
    ) -> Declaration:
        """Values that are numbers from least to most, or above `above`, below `below`, or `off`."""
        return self.values(float, bounds=Bounds(least, most, above, below, off), **of)

    def probability(self, default: float | None, **of: Any) -> Declaration:
        """Values that are probabilities below 1."""
        return self.number(0, below=1, default=default, **of)

    def choice(self, *choices: str, **of: Any) -> Declaration:
        """Values from a list of words."""
        return self.values(choices=choices, **of)


def _several(options: str | Sequence[str]) -> tuple[str, ...]:
    return (options,) * bool(options) if isinstance(options, str) else tuple(options)


def same(options: type, name: str, **different: Any) -> Any:
    """A dataclass field that reuses the declaration of another command's option.

    different: fields of `Flag` with other values in this command.
    """
    stated, default = statements(options)[name]
    return field(default=default, metadata={"flag": dataclasses.replace(stated, **different)})
