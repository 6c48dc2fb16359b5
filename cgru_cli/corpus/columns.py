"""Ragged columns: rows of different numbers of values, memory-mapped from two files a column.

The files of a column are `NAME.values.npy`, the values of all rows one after another, and
`NAME.ends.npy`, a 0 and then the end of each row among the values.
"""

import hashlib
import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

Rows = Sequence[int] | np.ndarray | slice


@dataclass(frozen=True, eq=False)
class Column:
    """N rows; row i is `values[begins[i] : ends[i]]`.

    values: (W,) or (W,F) of any type, for W values of one or of F numbers
    begins, ends: (N,) int64
    """

    values: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map the column whose files begin with this path. Raises OSError and ValueError."""
        values, ends = (np.asarray(np.load(file, mmap_mode="r")) for file in _files(path))
        return cls(values, ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.begins[row] : self.ends[row]]

    def lengths(self, rows: Rows = slice(None)) -> np.ndarray:
        """The number of values in each of these rows."""
        lengths: np.ndarray = self.ends[rows] - self.begins[rows]
        return lengths

    def select(self, rows: Rows) -> Self:
        """The column of these rows."""
        return type(self)(self.values, self.begins[rows], self.ends[rows])

    def joined(self, rows: Rows) -> np.ndarray:
        """The values of these rows, one row after another."""
        lengths = self.lengths(rows)
        shift = self.begins[rows] - (np.cumsum(lengths) - lengths)
        return self.values[np.repeat(shift, lengths) + np.arange(lengths.sum())]

    def padded(self, rows: Rows, shape: tuple[int, int], fill: np.generic) -> np.ndarray:
        """These rows as an array of this shape (B,L), (B,L,F) if a value has F numbers.

        B and L are at least the number of rows and the longest length. The rest of the array is
        filled with `fill`, whose type the array has.
        """
        padded = np.full((*shape, *self.values.shape[1:]), fill)
        padded[within(self.lengths(rows), shape)] = self.joined(rows)
        return padded


def within(lengths: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Whether each place of (B,L) is within its row; rows without a length are empty."""
    full = np.zeros(shape[0], np.int64)
    full[: len(lengths)] = lengths
    inside: np.ndarray = np.arange(shape[1]) < full[:, None]
    return inside


class GrowingArray:
    """A `.npy` file to which rows are added.

    dtype: of the values; shape: of a row. `close` completes the file.
    """

    def __init__(self, file: BinaryIO, dtype: Any, shape: tuple[int, ...] = ()):
        self._file, self._dtype, self._shape = file, np.dtype(dtype), shape
        self._rows = 0
        self._write_header()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, *self._shape),
        }
        np.lib.format.write_array_header_1_0(self._file, header)  # the same size for any shape

    def append(self, rows: np.ndarray) -> None:
        """Add rows of the file's type: (N, *shape)."""
        self._file.write(np.ascontiguousarray(rows, self._dtype).data)
        self._rows += len(rows)

    def close(self) -> None:
        """Write the number of rows into the header."""
        self._file.seek(0)
        self._write_header()


class ColumnWriter:
    """Writes the files of a column; they are on disk after a `with` block without error.

    dtype: of the values; shape: of a value. digest: SHA-256 of the values, each in 32 bits.
    """

    def __init__(self, path: Path, dtype: Any, shape: tuple[int, ...] = ()):
        self._dtype, self._shape, self._end = np.dtype(dtype), shape, 0
        self._files = [open(file, "xb") for file in _files(path)]  # noqa: SIM115
        self._values = GrowingArray(self._files[0], dtype, shape)
        self._ends = GrowingArray(self._files[1], np.int64)
        self._ends.append(np.zeros(1, np.int64))
        self.digest = hashlib.sha256()

    def append(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows. Raises OverflowError and ValueError for values of another type or shape."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        numbers: Iterable = itertools.chain.from_iterable(rows)
        if self._shape:
            numbers = itertools.chain.from_iterable(numbers)
        ends = self._end + np.cumsum(lengths)
        values = np.fromiter(numbers, self._dtype).reshape(lengths.sum(), *self._shape)
        self._values.append(values)
        self.digest.update(in_32_bits(values))
        self._ends.append(ends)
        self._end = int(ends[-1]) if len(ends) else self._end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for file, array in zip(self._files, (self._values, self._ends), strict=True):
            with file:
                if error is None:
                    array.close()
                    file.flush()
                    os.fsync(file.fileno())


def in_32_bits(numbers: np.ndarray) -> memoryview:
    """The bytes of numbers in 32 bits, so that digests do not depend on the types of files."""
    return np.ascontiguousarray(numbers, "<f4" if numbers.dtype.kind == "f" else "<u4").data


def _files(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.values.npy"), path.with_name(f"{path.name}.ends.npy")
