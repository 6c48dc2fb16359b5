"""The programs that cgru is compatible with, and the defaults of their decoders.

`cgru translate` has the defaults of the model's program; `--compat` also reproduces its output
layout, signs, and for Nematus-TF its beam search.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Program(StrEnum):
    """The programs whose models, scripts and outputs cgru supports.

    The array names of a program are a dialect (`parameters.parameter.Dialect`); some programs have
    several dialects. `PROGRAMS` has the defaults, `output.layouts` the output layouts.
    """

    CGRU = "cgru"
    DL4MT = "dl4mt"
    NEMATUS = "nematus"  # on Theano
    NEMATUS_TF = "nematus-tf"
    MARIAN = "marian"
    AMUN = "amun"  # Marian's first decoder
    NMTPY = "nmtpy"


@dataclass(frozen=True)
class ProgramDefaults:
    """The defaults of one program's decoder.

    limit: function from the source's length to the maximum length of a translation, both with EOS;
    sums: whether an ensemble's log-probabilities are added instead of averaged;
    first_aligns: whether an ensemble has the attention of its first model instead of the mean;
    reads: function from a line to the program's words of it, separated by spaces;
    unk: the unknown word in translations, None if it is that of the vocabulary.
    """

    program: Program
    beam_size: int
    normalize: float
    allow_unk: bool
    limit: Callable[[int], int]
    sums: bool = True
    search: Literal["shrinking", "nematus-tf"] = "shrinking"
    mini_batch: int = 64
    maxi_batch: int = 100
    reads: Callable[[str], str] = str
    unk: str | None = None
    first_aligns: bool = False


def marian_limit(length: int, factor: float = 3.0) -> int:
    """The maximum length by Marian's --max-length-factor: factor times the source's length."""
    return max(1, math.ceil(factor * length))


def nematus_limit(length: int, factor: float) -> int:
    """The maximum length by --max-ratio of Nematus on Theano, which rounds down."""
    return max(1, int(factor * length))


def label_limit(length: int) -> int:
    """The maximum number of labels of a line, with EOS: one label, or one per word."""
    return max(2, length)


_PYTHON2_SPACES = dict.fromkeys(map(ord, "\t\r\v\f"), " ")


def _python2_spaces(line: str) -> str:
    """Separate words as Python 2's `str.split()` does for bytes."""
    return line.translate(_PYTHON2_SPACES)


def _python3_spaces(line: str) -> str:
    return " ".join(line.split())


def _without_return(line: str) -> str:
    """Drop the `\\r` of a Windows line end, as Marian's `io::getline` does."""
    return line.removesuffix("\r")


_DEFAULTS = (
    ProgramDefaults(Program.NEMATUS, 5, 0.0, True, lambda _: 200, reads=_python2_spaces),
    ProgramDefaults(
        Program.NEMATUS_TF, 5, 0.0, True, lambda _: 200, True, "nematus-tf", 80, 20, _python3_spaces
    ),
    ProgramDefaults(Program.DL4MT, 5, 0.0, True, lambda _: 200, reads=_python2_spaces),
    ProgramDefaults(
        Program.MARIAN, 12, 0.0, False, marian_limit, reads=_without_return, first_aligns=True
    ),
    ProgramDefaults(Program.AMUN, 12, 0.0, False, marian_limit, unk="<unk>", first_aligns=True),
    ProgramDefaults(Program.NMTPY, 12, 1.0, True, lambda length: max(100, 3 * length)),
)
PROGRAMS: dict[str, ProgramDefaults] = {defaults.program: defaults for defaults in _DEFAULTS}


def reads_as(compat: str | None) -> Callable[[str], str]:
    """How the program of --compat reads a line (`ProgramDefaults.reads`); None: unchanged."""
    return PROGRAMS[compat].reads if compat else str


# The choices of --compat.
COMPAT = tuple(d.program.value for d in _DEFAULTS if d.program is not Program.NMTPY)
