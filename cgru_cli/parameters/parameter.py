"""A row of the name table: a parameter, and its name in each program."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from .cells import CellPlace
from .program import Program
from .structure import Normalization, Structure


class Dialect(StrEnum):
    """The array names of a program, or of one of its versions or types."""

    NEMATUS = "nematus"  # Nematus-Theano, DL4MT and cgru's .npz
    NEMATUS_TF = "nematus-tf"
    NEMATUS_TF_01 = "nematus-tf-0.1"  # old names, before deep models
    AMUN = "marian-amun"
    MARIAN_NEMATUS = "marian-nematus"
    S2S = "marian-s2s"
    NMTPY = "nmtpy"

    @property
    def program(self) -> Program:
        """The program; Nematus also stands for DL4MT."""
        if self in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01):
            return Program.NEMATUS_TF
        return Program.MARIAN if self in MARIAN else Program(self.value)


MARIAN = (Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.S2S)


@dataclass(frozen=True)
class Parameter:
    """One array of a model.

    path: the place in the model (Keras variable, HDF5 dataset); names: the name in each dialect
    that supports the array; transposed: Marian's name of its transpose, if files may have the
    transpose instead; cell: the recurrent cell that it belongs to.
    """

    symbol: str
    path: str
    shape: tuple[str, ...]
    initializer: str
    names: Mapping[Dialect, str]
    transposed: str = ""
    cell: CellPlace | None = None

    @property
    def name(self) -> str:
        """The DL4MT/Nematus name, which is also the name in cgru's own `.npz`."""
        return self.names[Dialect.NEMATUS]

    def size(self, structure: Structure) -> tuple[int, ...]:
        """The shape in numbers."""
        sizes = structure.sizes()
        return tuple(sizes[letter] for letter in self.shape)


def same(name: str, *dialects: Dialect) -> dict[Dialect, str]:
    """The same name for Nematus and these dialects."""
    return dict.fromkeys((Dialect.NEMATUS, *dialects), name)


def tf_only(nematus: str, tf: str) -> dict[Dialect, str]:
    """Names of an array that only Nematus and Nematus-TF have."""
    return {Dialect.NEMATUS: nematus, Dialect.NEMATUS_TF: tf, Dialect.NEMATUS_TF_01: tf}


def tf_norm(suffix: str) -> str:
    """Nematus-TF's suffix of a norm's array, given Nematus' suffix."""
    return {"": "", "_lns": "/new_std", "_lnb": "/new_mean", "_rms": "/scale"}.get(suffix, suffix)


def norm_rows(
    s: Structure,
    names: Callable[[str], dict[Dialect, str]],
    symbol: str,
    path: str,
    width: str,
    cell: CellPlace | None = None,
) -> Iterator[Parameter]:
    """Gain and bias of one product's normalisation; names(suffix) gives each dialect's name."""

    def row(letter: str, suffix: str, initializer: str, dialects: dict) -> Parameter:
        symbol_of_row = f"{letter}({symbol})"
        return Parameter(symbol_of_row, path + suffix, (width,), initializer, dialects, cell=cell)

    if s.normalization is Normalization.NEMATUS:
        yield row("g", "_lns", "ones", names("_lns"))
        yield row("b", "_lnb", "zeros", names("_lnb"))
    elif s.normalization is Normalization.RMS:
        tf_only = (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01)
        dialects = {d: n for d, n in names("_rms").items() if d in tf_only}
        dialects[Dialect.NEMATUS] = names("_lns")[Dialect.NEMATUS]
        yield row("g", "_lns", "ones", dialects)
    if s.weight_normalization:
        yield row("g", "_wns", "ones", same(names("_wns")[Dialect.NEMATUS]))
