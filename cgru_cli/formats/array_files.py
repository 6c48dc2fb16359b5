"""Files of named arrays: `.npz` and `.h5`, read without trust and written whole or not at all.

The core of this package: a model file is a dict of arrays. What the arrays mean is the business
of `names.py` and `model_file.py`.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError
from ..system.atomic_files import atomic_write

GIT_LFS = b"version https://git-lfs"


def read_npz(path: Path, skip: Callable[[str], bool] = lambda name: False) -> dict[str, np.ndarray]:
    """The arrays of an `.npz`, as stored, but for those whose name is to be skipped.

    Nothing is unpickled: an array of Python objects that is not skipped is an error, as is a
    header that does not fit the bytes behind it (so a forged one allocates nothing).

    Raises CgruError naming the file, and the array where one is at fault.
    """
    check_readable(path)
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if skip(name):
                    continue
                if name in arrays:
                    raise CgruError(f"{path}: array {name} is stored twice")
                try:
                    arrays[name] = _read_member(archive, member)
                except CgruError as error:
                    raise CgruError(f"{path}: array {name}: {error}") from None
                except (ValueError, EOFError, OSError, SyntaxError, TypeError, OverflowError,
                        RecursionError, MemoryError, NotImplementedError, RuntimeError,
                        zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
                    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                    raise CgruError(
                        f"{path}: array {name} cannot be read ({reason}); is the file complete?"
                    ) from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise CgruError(f"{path}: not a complete .npz file ({_first_line(error)})") from None
    return arrays


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        major, minor = np.lib.format.read_magic(stream)
        if (major, minor) == (1, 0):
            header = np.lib.format.read_array_header_1_0(stream)
        elif (major, minor) == (2, 0):
            header = np.lib.format.read_array_header_2_0(stream)
        else:
            raise CgruError(f"unknown .npy version {major}.{minor}")
        shape, fortran_order, dtype = header
        if dtype.hasobject:
            raise CgruError("holds pickled Python objects, which are never loaded")
        expected = math.prod(shape) * dtype.itemsize
        stored = member.file_size - stream.tell()
        if min(shape, default=0) < 0 or expected != stored:
            raise CgruError(
                f"header says {shape} of {dtype} ({expected} bytes) but {stored} bytes are stored"
            )
        content = stream.read()
    if len(content) != expected:
        raise CgruError(f"{expected} bytes expected, {len(content)} found")
    array = np.frombuffer(content, dtype=dtype)
    if fortran_order:
        return array.reshape(shape[::-1]).transpose()
    return array.reshape(shape)


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an uncompressed `.npz` in C order, atomically.

    Plain zip entries with sizes in the local header (no zip64 extension below 4 GiB): Marian's
    reader, unlike NumPy's, reads the local headers. Times are fixed, so equal content gives
    equal files.
    """
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # not ascontiguousarray, which would make a 0-d array 1-d
            array = np.asarray(array, order="C")
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.file_size = array.nbytes  # by which zip64 is decided on, with some to spare
            with archive.open(entry, "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_hdf5(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Datasets by their path, and the file's text attributes.

    Raises CgruError naming the file.
    """
    check_readable(path)
    import h5py

    arrays: dict[str, np.ndarray] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            # deflate shrinks a thousandfold at most; a forged size would allocate any memory
            if item.nbytes > 1100 * item.id.get_storage_size():
                raise ValueError(f"dataset {name} claims {item.nbytes} bytes, which are not there")
            arrays[name] = item[()]

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
            attributes = {
                key: value.decode() if isinstance(value, bytes) else str(value)
                for key, value in file.attrs.items()
            }
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError) as error:
        raise CgruError(f"{path}: not a complete HDF5 file ({_first_line(error)})") from None
    return arrays, attributes


def write_hdf5(path: Path, arrays: Mapping[str, np.ndarray], attributes: Mapping[str, str]) -> None:
    """Write datasets by path and text attributes, atomically."""
    import h5py

    with atomic_write(path) as stream, h5py.File(stream, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        for key, value in attributes.items():
            file.attrs[key] = value


def check_readable(path: Path) -> None:
    """Say in one line why a file is none that could be read.

    Raises CgruError.
    """
    if path.is_dir():
        raise CgruError(f"{path}: is a directory; name the model file in it")
    try:
        with open(path, "rb") as stream:
            start = stream.read(len(GIT_LFS))
            size = os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        raise CgruError(f"{path}: no such file") from None
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    if size == 0:
        raise CgruError(f"{path}: is empty")
    if start == GIT_LFS:
        raise CgruError(
            f"{path}: is a Git LFS pointer, not the model; fetch it with `git lfs pull`"
        )


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()
    return text[0] if text else type(error).__name__
