"""Convert JSON to dataclasses: msgspec checks types; fields may not be missing or unknown."""

import dataclasses
import math
import os
from typing import Any, TypeVar

import msgspec

from ..errors import CgruError

Dataclass = TypeVar("Dataclass")
LATER = {"later": True}  # metadata of a field that older files lack; it needs a default


def dataclass_from_json(
    cls: type[Dataclass], data: Any, source: str | os.PathLike[str], advice: str = ""
) -> Dataclass:
    """Make a dataclass from the JSON of its `dataclasses.asdict`.

    Every field is required unless marked `LATER`. Unknown fields are rejected, and so are numbers
    that are not finite. Bounds belong in the types, as `Annotated[int, msgspec.Meta(ge=0)]`, or in
    `__post_init__` as a ValueError. advice: the end of the message. Raises CgruError, in one line
    that names source and field.
    """
    try:
        made = msgspec.convert(data, cls)
        _check(made, data, "")
    except msgspec.ValidationError as error:
        end = f"; {advice}" if advice else ""
        raise CgruError(f"{source}: damaged: {problem(error)}{end}") from None
    return made


def problem(error: msgspec.ValidationError) -> str:
    """Format a message of msgspec as `FIELD: PROBLEM`.

    "Expected `int`, got `str` - at `$.sizes[0]`" becomes "sizes[0]: expected int, got str".
    """
    message, _, place = str(error).partition(" - at `$")
    message = message.removeprefix("Object ").removeprefix("contains ").replace("`", "")
    message = message[:1].lower() + message[1:]
    place = place.strip(".`")
    return f"{place}: {message}" if place else message


def _check(made: Any, data: Any, place: str) -> None:
    """Check, unlike msgspec, for missing or unknown fields and numbers that are not finite."""
    if dataclasses.is_dataclass(made):
        fields = {field.name: field for field in dataclasses.fields(made)}
        for name, field in fields.items():
            if name in data:
                _check(getattr(made, name), data[name], f"{place}.{name}")
            elif field.metadata != LATER:
                _raise(f"missing required field {name}", place)
        for name in data:
            if name not in fields:
                _raise(f"unknown field {name!r:.60}", place)
    elif isinstance(made, tuple):
        for i, (item, given) in enumerate(zip(made, data, strict=True)):
            _check(item, given, f"{place}[{i}]")
    elif isinstance(made, float) and not math.isfinite(made):
        _raise(f"expected a finite number, got {made}", place)


def _raise(message: str, place: str) -> None:
    raise msgspec.ValidationError(f"{message} - at `${place}`")
