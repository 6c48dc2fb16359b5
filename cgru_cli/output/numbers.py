"""Format numbers as the programs do."""

from __future__ import annotations

import numpy as np

C_FLOAT = "{:g}".format  # of a float32 as a Python float


def float32(value: float) -> float:
    return float(np.float32(value))


def c_float(value: float) -> str:
    """A float as C++'s ostream writes it: 6 significant digits."""
    return C_FLOAT(float32(value))


def numpy_float32(value: float) -> str:
    """A float32 as NumPy 1 writes it: the fewest digits that identify it, exponents from 1e16."""
    return repr(float(str(np.float32(value))))  # NumPy 2 writes smaller numbers with exponents


def python2_float(value: float) -> str:
    """A float as Python 2 writes it: 12 significant digits, and `.0` after a whole number."""
    text = f"{value:.12g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text
