"""The fields of requests in JSON: each is stated once, checked by that, and described by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import CgruError
from ..system.structured_files import parse_json
from .service import Refusal

Kind = Literal["text", "texts", "pairs", "prefixes", "words", "segments", "phrases",
               "whole", "number", "alpha", "truth"]  # fmt: skip
_TEXTS = {"type": "array", "items": {"type": "string"}}
_SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": _TEXTS,
    "words": _TEXTS,
    "pairs": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["source", "target"],
            "properties": {"source": {"type": "string"}, "target": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    "prefixes": {"type": "array", "items": {"oneOf": [{"type": "string"}, _TEXTS]}},
    "segments": {"type": "array", "items": _TEXTS},
    "phrases": {"type": "array", "items": _TEXTS},
    "whole": {"type": "integer"},
    "alpha": {"oneOf": [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": 10}]},
    "number": {"type": "number"},
    "truth": {"type": "boolean"},
}
_EXPECTED: dict[Kind, str] = {
    "text": "a text",
    "texts": "a list of texts",
    "words": "a list of words",
    "pairs": 'a list of {"source": text, "target": text}',
    "prefixes": "a list of texts, or of lists of words",
    "segments": "a list of lists of words",
    "phrases": "a list of lists of texts",
    "whole": "a whole number",
    "alpha": "true, false or a number from 0 to 10",
    "number": "a number",
    "truth": "true or false",
}


@dataclass(frozen=True)
class Field:
    """A field of a request.

    default: what stands for it where it is missing, None for what the server's command line says;
    required: it has to be there. least, most: bounds of numbers.
    """

    kind: Kind
    help: str
    default: Any = None
    required: bool = False
    least: float = 0
    most: float = math.inf

    def read(self, name: str, value: Any) -> Any:
        """Raises Refusal, naming the field, for a value that it cannot have."""
        if not self._fits(value):
            raise Refusal(400, f"{name}: {_EXPECTED[self.kind]} is expected")
        if self.kind in ("whole", "number") and not self.least <= value <= self.most:
            raise Refusal(400, f"{name} {value}: from {self.least:g} to {self.most:g} is expected")
        return value

    def _fits(self, value: Any) -> bool:
        if self.kind == "text":
            return isinstance(value, str)
        if self.kind == "truth":
            return isinstance(value, bool)
        if self.kind == "whole":
            return type(value) is int
        if self.kind == "number":
            return _is_number(value)
        if self.kind == "alpha":
            return isinstance(value, bool) or (_is_number(value) and 0 <= value <= 10)
        if not isinstance(value, list):
            return False
        if self.kind == "pairs":
            return all(
                isinstance(pair, dict)
                and set(pair) == {"source", "target"}
                and all(isinstance(text, str) for text in pair.values())
                for pair in value
            )
        if self.kind in ("segments", "phrases"):
            return all(map(_is_words, value))
        return all(
            isinstance(text, str) or (self.kind == "prefixes" and _is_words(text)) for text in value
        )

    @property
    def schema(self) -> dict[str, Any]:
        """As OpenAPI describes it."""
        schema = _SCHEMAS[self.kind] | {"description": self.help}
        if self.kind in ("whole", "number"):
            schema["minimum"] = self.least
            if math.isfinite(self.most):
                schema["maximum"] = self.most
        if self.default is not None:
            schema["default"] = self.default
        return schema


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


Fields = Mapping[str, Field]


def read(fields: Fields, body: bytes, *, others: bool = False) -> dict[str, Any]:
    """The values of a request's fields, those that are missing by their defaults.

    others: whether other fields may be there too, which are left out. Raises Refusal for what is
    no JSON object, or has other fields or values.
    """
    try:
        data = parse_json(body, "the request")
    except CgruError as error:
        raise Refusal(400, str(error)) from None
    if not isinstance(data, dict):
        raise Refusal(400, "the request: a JSON object is expected")
    if not others and (unknown := [name for name in data if name not in fields]):
        raise Refusal(400, f"{unknown[0]!r}: no such field; there are {', '.join(fields)}")
    values = {}
    for name, field in fields.items():
        value = data.get(name)
        if value is None and field.required:
            raise Refusal(400, f"{name} is missing: {_EXPECTED[field.kind]}")
        values[name] = field.default if value is None else field.read(name, value)
    return values


def schema(fields: Fields) -> dict[str, Any]:
    """Of a request, as OpenAPI describes it."""
    return {
        "type": "object",
        "required": [name for name, field in fields.items() if field.required],
        "properties": {name: field.schema for name, field in fields.items()},
        "additionalProperties": False,
    }
