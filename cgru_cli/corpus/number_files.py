"""Files of numbers, written in parts and mapped into memory as arrays."""

import contextlib
import hashlib
import math
import mmap
import os
from pathlib import Path

import numpy as np


def mapped(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A file as a read-only array. Raises ValueError if its size does not match the shape."""
    size = math.prod(shape) * dtype.itemsize
    if os.path.getsize(path) != size:
        raise ValueError(f"{path} is not {size} bytes long")
    if not size:  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype).reshape(shape)


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Numbers:
    """A growing file of numbers, which changes from 16 to 32 bits at the first larger number.

    digest: SHA-256 of the numbers in 32 bits, whatever their size in the file.
    """

    def __init__(self, path: Path, dtype: str):
        self.path = path
        self.dtype = np.dtype(dtype)
        self.digest = hashlib.sha256()
        self._digested = "<f4" if self.dtype.kind == "f" else "<u4"
        self._file = open(path, "xb")  # noqa: SIM115

    def append(self, values: np.ndarray) -> None:
        if self.dtype.itemsize == 2 and values.size and values.max() > np.iinfo(self.dtype).max:
            self._widen()
        self.digest.update(np.ascontiguousarray(values, self._digested).data)
        self._file.write(np.ascontiguousarray(values, self.dtype).data)

    def _widen(self) -> None:
        """Rewrite the file with 32-bit numbers."""
        self._file.close()
        narrow = self.path.with_suffix(".narrow.ids")
        os.replace(self.path, narrow)
        old, self.dtype = self.dtype, np.dtype("<u4")
        self._file = open(self.path, "xb")  # noqa: SIM115
        with open(narrow, "rb") as file:
            while block := file.read(1 << 20):
                self._file.write(np.frombuffer(block, old).astype(self.dtype).data)
        narrow.unlink()

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        for path in (self.path, self.path.with_suffix(".narrow.ids")):
            with contextlib.suppress(OSError):
                path.unlink()
