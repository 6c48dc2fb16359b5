"""Read the rows of numbers in a `.npy` file as lines of text with numbers between spaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CgruError, parsing

if TYPE_CHECKING:
    import numpy as np

SUFFIX = ".npy"


def count_rows(path: str | os.PathLike[str]) -> int:
    """The number of rows of a file. Raises CgruError like `lines_of_rows`."""
    return len(_mapped(path))


def lines_of_rows(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Each row as a line with its newline, without reading the whole file into memory.

    Numbers have all digits, so that reading the text gives the same numbers. Raises CgruError if
    the file is not a NumPy file with a matrix of numbers.
    """
    rows = _mapped(path)
    return (f"{' '.join(map(repr, row.tolist()))}\n".encode() for row in rows)


def _mapped(path: str | os.PathLike[str]) -> np.ndarray:
    import numpy as np

    with parsing(path, "not a .npy file of numbers"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        kind = getattr(array, "dtype", "an archive")
        raise CgruError(f"{path}: a matrix of numbers is expected, not {kind}")
    if array.ndim != 2:
        raise CgruError(
            f"{path}: an array of shape {array.shape}; one row for each line is expected"
        )
    return array
