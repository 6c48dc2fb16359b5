"""A model in memory: structure, arrays and configuration."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from ..errors import CgruError
from ..parameters.names import parameters
from ..parameters.parameter import Dialect, Parameter
from ..parameters.program import Program
from ..parameters.structure import Structure
from ..system.structured_files import StoredFile

CONVENTIONS = frozenset({*Dialect, "dl4mt"})
PREPROCESSING = ".preprocess.json"  # suffix of the file that says how to prepare raw text


@dataclass
class ModelSettings:
    """A model's configuration, in the same terms for every program.

    structure: the fields of `Structure` that the configuration states, and two properties to
    compare with the arrays: normalized, rms.
    """

    source: str = ""  # the file
    program: str = ""  # a `Program`, if the configuration states it
    structure: dict = field(default_factory=dict)
    vocabularies: list[str] = field(default_factory=list)  # sources (one per factor), then target
    preprocessing: StoredFile | None = None  # if stored in the model's own file
    unsupported: list[str] = field(default_factory=list)  # features that cgru cannot run
    right_left: bool = False  # writes sentences right to left
    source_reversed: bool = False  # also reads from the end, like all such models of Marian
    beam_size: int | None = None
    normalize: float | None = None
    word_penalty: float | None = None
    marian_type: str = ""
    values: dict = field(default_factory=dict)  # as read, to write them back

    def update(self, other: Self) -> None:
        """Add values from another file, but keep known values."""
        self.structure = other.structure | self.structure
        self.unsupported += other.unsupported
        for name in vars(self):
            value = getattr(self, name)
            if value is None or value is False or value in ("", []):
                setattr(self, name, getattr(other, name))


@dataclass
class Model:
    """A model in memory, from any kind of file.

    arrays: float32 (float16 only for writing; `Integers` in a file in 8 bits), C order, by
    DL4MT/Nematus name; inert: arrays without an effect on the computation; program: dl4mt or the
    value of a `Dialect`, for the conventions; container: the kind of the original file; origin:
    Marian's own form, to write the same file again (dialect, yaml and its length in bytes, names of
    the transposed arrays); precision: the data type of matrix products, if the file determines it.

    Raises CgruError for another program.
    """

    path: Path
    structure: Structure
    arrays: dict[str, np.ndarray] = field(repr=False)
    program: str
    container: str = ""
    inert: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    settings: ModelSettings = field(default_factory=ModelSettings)
    origin: dict = field(default_factory=dict)
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.program not in CONVENTIONS:
            names = ", ".join(sorted(CONVENTIONS))
            raise CgruError(f"{self.path}: program {self.program!r}: expected one of {names}")

    @property
    def written_by(self) -> Program:
        """The program that the model belongs to."""
        return Program.DL4MT if self.program == "dl4mt" else Dialect(self.program).program

    @property
    def one_direction(self) -> bool:
        """Whether it reads and writes from the same end of a sentence, like all Marian models."""
        same = self.settings.right_left == self.settings.source_reversed
        return same or not self.structure.type.reads_source

    def parameters(self) -> tuple[Parameter, ...]:
        """The table's rows for this model."""
        return parameters(self.structure)

    @property
    def store(self) -> str:
        """The data type of the arrays in cgru's own formats."""
        return next(iter(self.arrays.values())).dtype.name

    @property
    def preprocessing(self) -> str:
        """The path of the model's `preprocess.json`, which may not exist."""
        return self.settings.preprocessing or f"{self.path}{PREPROCESSING}"

    @property
    def parameter_count(self) -> int:
        """The number of parameters."""
        return sum(math.prod(row.size(self.structure)) for row in parameters(self.structure))
