"""The programs whose models, scripts and outputs are stood in for, and what each does by default.

`cgru translate` searches as the model's program did; `--compat` also takes on its output layout,
signs, and (Nematus-TF) its other beam search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """Defaults of one program.

    limit: the most words (EOS counted) of a translation, from the source's length with EOS;
    sums: an ensemble's log-probabilities are added, not averaged; layout: of `output.Layout`.
    """

    name: str
    beam_size: int
    normalize: float
    allow_unk: bool
    limit: Callable[[int], int]
    layout: str
    sums: bool = True
    search: str = "shrinking"
    mini_batch: int = 64
    maxi_batch: int = 100


def _nematus_limit(length: int) -> int:
    return 200


def marian_limit(length: int, factor: float = 3.0) -> int:
    """Marian's --max-length-factor: at most factor times the source's length."""
    return max(1, math.ceil(factor * length))


def _nmtpy_limit(length: int) -> int:
    return max(100, 3 * length)


PROGRAMS = {
    "nematus": Program("nematus", 5, 0.0, True, _nematus_limit, "nematus"),
    "nematus-tf": Program(
        "nematus-tf", 5, 0.0, True, _nematus_limit, "nematus-tf",
        search="nematus-tf", mini_batch=80, maxi_batch=20,
    ),
    "dl4mt": Program("dl4mt", 5, 0.0, True, _nematus_limit, "dl4mt"),
    "marian": Program("marian", 12, 0.0, False, marian_limit, "marian"),
    "amun": Program("amun", 12, 0.0, False, marian_limit, "amun"),
    "nmtpy": Program("nmtpy", 12, 1.0, True, _nmtpy_limit, "cgru"),
}  # fmt: skip

COMPAT = ("nematus", "nematus-tf", "dl4mt", "marian", "amun")


def of_model(program: str) -> Program:
    """The program that a model's dialect belongs to."""
    return PROGRAMS["marian" if program.startswith("marian") else program]
