"""What cgru writes of a model beside the legacy keys: the object `cgru` of a configuration.

The legacy programs do not look at it. It says what their keys have no words for, so that nothing
is lost on the way through cgru's own files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CgruError
from ..parameters.structure import Structure
from .model import Model, ModelSettings


@dataclass
class Own:
    """What cgru itself wrote of a model, in a file's `cgru` object or attribute."""

    structure: Structure
    program: str
    inert: dict[str, np.ndarray]
    origin: dict
    decoding: dict

    @classmethod
    def of(cls, values: object, source: str) -> Own | None:
        """Read it, where it is there. Raises CgruError where it is damaged."""
        if values is None:
            return None
        try:
            structure = Structure.from_dict(values["structure"])
            counts = [
                getattr(structure, name)
                for name in ("encoder_depth", "encoder_transition", "decoder_depth",
                             "decoder_base_transition", "decoder_high_transition", "mixture")
            ]  # fmt: skip
            if not all(type(count) is int and 1 <= count <= 64 for count in counts):
                raise ValueError("a depth is not between 1 and 64")
            sizes = [
                *structure.source_vocabularies, *structure.source_embeddings, structure.state,
                structure.target_vocabulary, structure.target_embedding,
            ]  # fmt: skip
            if not all(type(size) is int and size > 0 for size in sizes):
                raise ValueError("a size is not a positive number")
            if len(structure.source_vocabularies) != len(structure.source_embeddings):
                raise ValueError("source factors are counted differently")
            inert = {str(n): _from_json(v) for n, v in dict(values.get("inert", {})).items()}
            origin, decoding = dict(values.get("origin", {})), dict(values.get("decoding", {}))
            return cls(structure, str(values.get("program", "nematus")), inert, origin, decoding)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CgruError(f"{source}: no structure of a model ({error})") from None

    def complete(self, settings: ModelSettings) -> None:
        """Add how the model was meant to be decoded."""
        for name in ("beam_size", "normalize", "word_penalty"):
            if getattr(settings, name) is None and isinstance(
                self.decoding.get(name), (int, float)
            ):
                setattr(settings, name, self.decoding[name])
        settings.right_left |= bool(self.decoding.get("right_left"))


def _from_json(value: dict) -> np.ndarray:
    return np.array(value["data"], dtype=value["dtype"]).reshape(value["shape"])


def own(model: Model, program: str) -> dict:
    """What cgru adds to a Nematus configuration, under the key `cgru`.

    program is the one whose conventions hold for the file.
    """
    settings = model.settings
    added: dict[str, Any] = {"structure": model.structure.as_dict(), "program": program}
    decoding = {
        name: getattr(settings, name)
        for name in ("beam_size", "normalize", "word_penalty", "right_left")
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
