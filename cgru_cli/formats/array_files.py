"""Files of named arrays: `.npz` and `.h5`, read as untrusted input and written atomically.

Headers are read first, so that names and shapes can be checked before arrays take memory.
"""

import contextlib
import dataclasses
import math
import mmap
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from ..errors import CgruError, parsing, reading
from ..system.atomic_files import atomic_write
from ..system.file_kinds import LOOKED_AT, check_kind
from ..system.structured_files import check_no_pipe

EXAMPLES = Path(__file__).parents[2] / "examples"  # in a clone of the repository
MOST_ARRAYS = 10_000  # in a file; the deepest models have some hundreds
MOST_EXPANDED = 100  # array bytes per byte of the file; trained weights give at most 1.2
ALWAYS_ALLOWED = 1 << 26  # bytes of arrays that a file of any size may declare
_DEFLATED = 1032  # maximum number of bytes that one byte of deflate can expand to
_HEAP = b"GCOL\x01\0\0\0"  # the first bytes of a heap in an HDF5 file
_NOT_READ = "cannot be read; is the file complete?"


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array of a file, whose content is read on demand.

    name: the name in the file; shape: the shape that `read` returns; turned: whether this array is
    the transpose of the stored array.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    read: Callable[[], np.ndarray]
    turned: bool = False

    @classmethod
    def of(cls, name: str, array: np.ndarray) -> Self:
        """An array that is already in memory."""
        return cls(name, array.shape, array.dtype, lambda: array)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the content."""
        return math.prod(self.shape) * self.dtype.itemsize

    def transposed(self) -> Self:
        """The transposed array."""
        read = self.read
        return dataclasses.replace(
            self, shape=self.shape[::-1], read=lambda: read().T, turned=not self.turned
        )

    def only_row(self) -> Self:
        """The only row of a matrix of shape (1, N): (N,)."""
        read = self.read
        return dataclasses.replace(self, shape=self.shape[1:], read=lambda: read()[0])

    def as_stored(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape with its axes in the file's order."""
        return shape[::-1] if self.turned else shape


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz`; raises CgruError like `open_npz`."""
    start_of(path)
    with open_npz(path) as stored:
        return {name: array.read() for name, array in stored.items()}


@contextlib.contextmanager
def open_npz(
    path: Path, skip: Callable[[str], bool] = lambda name: False
) -> Iterator[dict[str, StoredArray]]:
    """The arrays of an `.npz`, except skipped names; they are readable inside the `with` block.

    Members may be stored or deflated. Nothing is unpickled. Raises CgruError, naming file and
    array, for an array of Python objects that is not skipped, a header that does not fit the bytes
    after it, and a file whose arrays are far larger than itself.
    """
    with contextlib.ExitStack() as stack:
        with parsing(path, "not a complete .npz file"):
            archive = stack.enter_context(zipfile.ZipFile(path))
        members = archive.infolist()
        if len(members) > MOST_ARRAYS:
            raise CgruError(f"{path}: {len(members)} arrays; a model has at most {MOST_ARRAYS}")
        if members and not any(one.filename.endswith(".npy") for one in members):
            raise CgruError(
                f"{path}: is a zip archive without arrays ({members[0].filename}, ...); unpack it, "
                "and name the model in it"
            )
        stored: dict[str, StoredArray] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if skip(name):
                continue
            if name in stored:
                raise CgruError(f"{path}: array {name} is stored twice")
            stored[name] = _stored(path, archive, member, name)
        _check_expansion(path, stored)
        yield stored


def _stored(
    path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str
) -> StoredArray:
    """The array of a member; reads only the header."""
    source = f"{path}: array {name}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CgruError(
            f"{source}: compressed by method {member.compress_type}; NumPy writes arrays stored or "
            "deflated, and only these are read"
        )
    if member.file_size > _DEFLATED * (member.compress_size + 1):
        sizes = f"{member.compress_size} compressed bytes cannot be {member.file_size} bytes"
        raise CgruError(f"{source}: {sizes}")
    with parsing(source, _NOT_READ), archive.open(member) as stream:
        major, minor = np.lib.format.read_magic(stream)
        if (major, minor) not in ((1, 0), (2, 0)):
            raise ValueError(f"unknown .npy version {major}.{minor}")
        read_header = getattr(np.lib.format, f"read_array_header_{major}_0")
        shape, fortran_order, dtype = read_header(stream)
        start = stream.tell()
    if dtype.hasobject:
        raise CgruError(f"{source}: holds pickled Python objects, which are never loaded")
    expected, stored = math.prod(shape) * dtype.itemsize, member.file_size - start
    if min(shape, default=0) < 0 or expected != stored:
        declared = f"{shape} of {dtype} ({expected} bytes)"
        raise CgruError(f"{source}: header says {declared} but {stored} bytes are stored")

    def read() -> np.ndarray:
        with parsing(source, _NOT_READ), archive.open(member) as stream:
            stream.read(start)
            content = stream.read(expected)
            if len(content) != expected:
                raise ValueError(f"{expected} bytes expected, {len(content)} found")
            array = np.frombuffer(content, dtype=dtype)
            return array.reshape(shape, order="F" if fortran_order else "C")

    return StoredArray(name, tuple(shape), dtype, read)


def _check_expansion(path: Path, stored: Mapping[str, StoredArray]) -> None:
    """Raise CgruError for a file whose arrays are far larger than the file."""
    total = sum(array.nbytes for array in stored.values())
    if total > ALWAYS_ALLOWED + MOST_EXPANDED * path.stat().st_size:
        largest = max(stored.values(), key=lambda array: array.nbytes)
        raise CgruError(
            f"{path}: a file of {path.stat().st_size} bytes that declares arrays of {total} bytes "
            f"(the largest is {largest.name} {largest.shape}); not a model"
        )


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an uncompressed `.npz` in C order, atomically.

    The zip entries have sizes in the local header (no zip64 extension below 4 GiB), because
    Marian's reader, unlike NumPy's, reads the local headers. Times are fixed, so equal content
    gives equal files.
    """
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # not ascontiguousarray, which turns 0-d arrays into 1-d arrays
            array = np.asarray(array, order="C")
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.file_size = array.nbytes  # decides on zip64, with some bytes to spare
            with archive.open(entry, "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _check_heaps(path: Path) -> None:
    """Raise ValueError if a heap of texts in an HDF5 file is damaged.

    The library steps from object to object by their sizes. Free space of size 0 makes it loop
    forever, and no signal can stop it. (HDF5 File Format Specification, III.E: the global heap.)
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_HEAP)
        while start >= 0:
            place = start + 16
            end = start + int.from_bytes(content[start + 8 : place], "little")
            if end > len(content):
                raise ValueError("a heap is cut short")
            while place + 16 <= end:
                index = int.from_bytes(content[place : place + 2], "little")
                size = int.from_bytes(content[place + 8 : place + 16], "little")
                space = 16 + -(-size // 8) * 8 if index else size  # free space includes a header
                if not 16 <= space <= end - place:
                    raise ValueError("a heap is damaged")
                place += space
            start = content.find(_HEAP, start + 1)


@contextlib.contextmanager
def open_hdf5(path: Path, attribute: str) -> Iterator[tuple[dict[str, StoredArray], str | None]]:
    """Datasets by path, readable inside the `with` block, and a text attribute if present.

    Raises CgruError, naming the file.
    """
    import h5py

    stored: dict[str, StoredArray] = {}

    def visit(name: str, item: object) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.external or item.is_virtual:
            raise CgruError(f"{path}: dataset {name} is stored in other files, which are not read")
        if item.nbytes > _DEFLATED * item.id.get_storage_size():
            raise CgruError(
                f"{path}: dataset {name} declares {item.nbytes} bytes, which the file does not have"
            )
        if len(stored) >= MOST_ARRAYS:
            raise CgruError(f"{path}: a model has at most {MOST_ARRAYS} arrays")

        def read() -> np.ndarray:
            with parsing(f"{path}: dataset {name}", _NOT_READ):
                return item[()]

        stored[name] = StoredArray(name, tuple(item.shape), item.dtype, read)

    with contextlib.ExitStack() as stack:
        with parsing(path, "not a complete HDF5 file"):
            _check_heaps(path)
            file = stack.enter_context(h5py.File(path, "r"))
            file.visititems(visit)
            value = file.attrs.get(attribute)
            text = value.decode() if isinstance(value, bytes) else value
            if text is not None and not isinstance(text, str):
                raise ValueError(f"attribute {attribute} is not text")
        _check_expansion(path, stored)
        yield stored, text


def write_hdf5(path: Path, arrays: Mapping[str, np.ndarray], attribute: str, text: str) -> None:
    """Write datasets by path and a text attribute, atomically."""
    import h5py

    with atomic_write(path) as stream, h5py.File(stream, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        file.attrs[attribute] = text


def start_of(path: Path) -> bytes:
    """The first bytes of a file. Raises CgruError, with the reason, if it is unreadable."""
    if path.is_dir():
        raise CgruError(f"{path}: is a directory; name the model file in it")
    if not os.path.lexists(path):
        for meant in (EXAMPLES / path.name, Path(f"{path}.npz")):
            if meant.is_file():
                raise CgruError(f"{path}: no such file; did you mean {meant}?")
        problem = f"{path}: no such file"
        if path.parent.name == EXAMPLES.name:
            problem += "; the example models come with the repository of cgru, not with the package"
        raise CgruError(problem)
    check_no_pipe(path)
    with reading(path), open(path, "rb") as stream:
        start = stream.read(LOOKED_AT)
        size = os.fstat(stream.fileno()).st_size
    if size == 0:
        raise CgruError(f"{path}: is empty")
    check_kind(start, path, "zip", what="model")
    return start
