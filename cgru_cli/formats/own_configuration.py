"""What cgru writes of a model beside the legacy keys: the object `cgru` of a configuration.

The legacy programs do not look at it. It says what their keys have no words for, so that nothing
is lost on the way through cgru's own files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import parsing
from ..parameters.parameter import Dialect
from ..parameters.structure import Structure
from ..system.structured_files import LARGEST_YAML
from .configuration_values import shown, value_of
from .model import Model, ModelSettings

_PROGRAMS = frozenset({*Dialect, "dl4mt"})
MOST_INERT = 100  # arrays of a model that nothing is computed with; there is one, or none
LARGEST_INERT = 1 << 16  # numbers in one; there is one, or none


@dataclass
class Own:
    """What cgru itself wrote of a model, in a file's `cgru` object or attribute."""

    structure: Structure
    program: str
    inert: dict[str, np.ndarray]
    origin: dict
    decoding: ModelSettings

    @classmethod
    def of(cls, values: object, source: str) -> Own | None:
        """Read it, where it is there. Raises CgruError where it is damaged."""
        if values is None:
            return None
        with parsing(source, "no structure of a model"):
            if not isinstance(values, Mapping):
                raise TypeError("a set of names and values is expected")
            program = values.get("program", "nematus")
            if program not in _PROGRAMS:
                raise ValueError(f"program {shown(program)}")
            inert = dict(values.get("inert", {}))
            if len(inert) > MOST_INERT:
                raise ValueError(f"{len(inert)} arrays that are not computed")
            decoding = dict(values.get("decoding", {}))
            return cls(
                Structure.from_dict(values["structure"]),
                program,
                {str(name): _from_json(array) for name, array in inert.items()},
                _origin(dict(values.get("origin", {}))),
                ModelSettings(
                    beam_size=value_of(decoding, "beam_size", source),
                    normalize=value_of(decoding, "normalize", source),
                    word_penalty=value_of(decoding, "word_penalty", source),
                    right_left=bool(decoding.get("right_left")),
                    source_reversed=bool(decoding.get("source_reversed")),
                ),
            )


def _from_json(value: dict) -> np.ndarray:
    """An array of `own`: few numbers of a plain kind. Raises ValueError for any other."""
    dtype = np.dtype(str(value["dtype"]))
    shape = tuple(value["shape"])
    if dtype.kind not in "fiu" or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("an array that is none of numbers")
    if math.prod(shape) > LARGEST_INERT or len(shape) > 4:
        raise ValueError(f"an array of shape {shape}, which is not computed with")
    return np.array(value["data"], dtype=dtype).reshape(shape)


def _origin(values: dict) -> dict:
    """What Marian's own form was, of the kinds that are written. Raises ValueError."""
    texts = [values.get(key, "") for key in ("dialect", "yaml")]
    turned = values.get("transposed", [])
    sound = (
        all(isinstance(text, str) for text in (*texts, *turned))
        and isinstance(turned, list)
        and type(values.get("bytes", 0)) is int
        and 0 <= values.get("bytes", 0) <= LARGEST_YAML
    )
    if not sound:
        raise ValueError("origin")
    return values


def own(model: Model, program: str) -> dict:
    """What cgru adds to a Nematus configuration, under the key `cgru`.

    program is the one whose conventions hold for the file.
    """
    settings = model.settings
    added: dict[str, Any] = {"structure": model.structure.as_dict(), "program": program}
    decoding = {
        name: getattr(settings, name)
        for name in ("beam_size", "normalize", "word_penalty", "right_left", "source_reversed")
        if getattr(settings, name) not in (None, False)
    }
    if decoding:
        added["decoding"] = decoding
    if model.inert:
        added["inert"] = {
            name: {"dtype": array.dtype.str, "shape": list(array.shape), "data": array.tolist()}
            for name, array in model.inert.items()
            if array.dtype.kind in "fiu"
        }
    if model.origin:
        added["origin"] = model.origin
    return added
