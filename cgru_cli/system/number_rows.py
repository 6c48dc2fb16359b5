"""Rows of numbers in a `.npy` file as lines of text: the numbers of a row between spaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CgruError, parsing

if TYPE_CHECKING:
    import numpy as np

SUFFIX = ".npy"


def count_rows(path: str | os.PathLike[str]) -> int:
    """How many rows a file has. Raises CgruError as `lines_of_rows`."""
    return len(_mapped(path))


def lines_of_rows(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Each row as a line with its newline; the file is mapped into memory, never read as a whole.

    Numbers are written in full: the text gives the same ones. Raises CgruError for a file that is
    none of NumPy's, or holds no matrix of numbers.
    """
    rows = _mapped(path)
    return (f"{' '.join(map(repr, row.tolist()))}\n".encode() for row in rows)


def _mapped(path: str | os.PathLike[str]) -> np.ndarray:
    import numpy as np

    with parsing(path, "no .npy file of numbers"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        kind = getattr(array, "dtype", "an archive")
        raise CgruError(f"{path}: a matrix of numbers is expected, no {kind}")
    if array.ndim != 2:
        raise CgruError(
            f"{path}: an array of shape {array.shape}; one row for each line is expected"
        )
    return array
