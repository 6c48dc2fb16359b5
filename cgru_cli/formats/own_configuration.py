"""cgru's own description of a model: the object `cgru` of a configuration.

The legacy programs ignore this object. It states the features that their keys cannot express, so
that cgru's own files describe every model completely.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, TypedDict

import msgspec
import numpy as np
from msgspec import Meta

from ..errors import parsing
from ..parameters.cells import impossible
from ..parameters.structure import LARGEST_SIZE, Structure
from ..system.structured_files import LARGEST_YAML
from .configuration_values import Number, shown
from .model import CONVENTIONS, Model

MOST_INERT = 100  # arrays without an effect on the computation; a model has one at most
LARGEST_INERT = 1 << 16  # numbers in each of these arrays


class _Decoding(TypedDict, total=False):
    """The settings for decoding: fields of `ModelSettings`."""

    beam_size: Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
    normalize: Number
    word_penalty: Number
    right_left: bool
    source_reversed: bool


class _Origin(TypedDict, total=False):
    """Marian's own form of the model."""

    dialect: str
    yaml: str
    bytes: Annotated[int, Meta(ge=0, le=LARGEST_YAML)]
    transposed: list[str]


class _Array(TypedDict):
    """A small array of numbers."""

    dtype: str
    shape: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=4)]
    data: Any


@dataclass
class Own:
    """The `cgru` object or attribute of a file."""

    structure: Structure
    program: str = "nematus"
    store: Literal["float32", "float16"] = "float32"
    inert: Annotated[dict[str, Any], Meta(max_length=MOST_INERT)] = field(default_factory=dict)
    origin: _Origin = field(default_factory=lambda: _Origin())
    decoding: _Decoding = field(default_factory=lambda: _Decoding())
    # for ONNX files
    version: Annotated[int, Meta(ge=1)] = 1
    precision: Literal["float32", "int8"] = "float32"
    files: dict[str, str] = field(default_factory=dict)  # stored inside, in Base64

    @classmethod
    def of(cls, values: Any, source: str) -> Self | None:
        """Parse values; None without values. Raises CgruError for damaged values."""
        if values is None:
            return None
        with parsing(source, "does not describe a model"):
            structure = Structure.from_dict(values["structure"], source)
            if problem := impossible(structure):
                raise ValueError(problem)
            read = msgspec.convert(values, cls)
            if read.program not in CONVENTIONS:
                raise ValueError(f"program {shown(read.program)}")
            read.inert = {name: _from_json(array) for name, array in read.inert.items()}
            return read


def _from_json(value: object) -> np.ndarray:
    """Parse a small array of numbers. Raises ValueError for anything else."""
    array = msgspec.convert(value, _Array)
    dtype, shape = np.dtype(array["dtype"]), tuple(array["shape"])
    if dtype.kind not in "fiu" or math.prod(shape) > LARGEST_INERT:
        raise ValueError(
            f"an array of {dtype} of shape {shape}, which the computation does not use"
        )
    return np.array(array["data"], dtype=dtype).reshape(shape)


def own(model: Model, program: str) -> dict:
    """The values of the key `cgru` in a Nematus configuration.

    program: the program whose conventions apply to the file.
    """
    settings = model.settings
    added: dict[str, Any] = {"structure": model.structure.as_dict(), "program": program}
    decoding = {
        name: value
        for name in _Decoding.__annotations__
        if (value := getattr(settings, name)) is not None and value is not False
    }
    if decoding:
        added["decoding"] = decoding
    if model.inert:
        added["inert"] = {
            name: {"dtype": array.dtype.str, "shape": list(array.shape), "data": array.tolist()}
            for name, array in model.inert.items()
            if array.dtype.kind in "fiu"
        }
    if model.store != "float32":
        added["store"] = model.store
    if model.origin:
        added["origin"] = model.origin
    return added
