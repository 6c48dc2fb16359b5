"""Small files that unpack to gigabytes or are otherwise malicious."""

import contextlib
import io
import math
import resource
import time
import tracemalloc
import zipfile
import zlib

import numpy as np

from cgru_cli.errors import CgruError


@contextlib.contextmanager
def bounded(seconds: float = 10.0, mebibytes: float = 200.0):
    """Fail if the block exceeds its limits of time or memory."""
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        yield
    finally:
        spent = time.process_time() - start
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert spent < seconds, f"{spent:.1f} s"
    assert max(peak / 2**20, grown) < mebibytes, f"{peak / 2**20:.0f} MiB, grown by {grown:.0f}"


def refused(call, *arguments, **bounds) -> str:
    """The one-line error of a call, which must stay within the limits."""
    with bounded(**bounds):
        try:
            call(*arguments)
        except CgruError as error:
            message = str(error)
        else:
            raise AssertionError("it was not refused")
    assert message.isprintable() and len(message) < 2100
    return message


def deflated_zeros(size: int) -> bytes:
    """Deflated zeros, made in pieces of 1 MiB without holding them in memory."""
    packer = zlib.compressobj(9, wbits=-15)
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size >> 20) + packer.compress(bytes(size % (1 << 20))) + packer.flush()


def npy_header(shape, descr="<f4") -> bytes:
    """The header of an `.npy` of this shape."""
    buffer = io.BytesIO()
    values = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(buffer, values)
    return buffer.getvalue()


def add_zeros(path, name, shape, descr="<f4") -> None:
    """Add a deflated member of zeros of this shape to an `.npz`."""
    header = npy_header(shape, descr)
    size = np.dtype(descr).itemsize * math.prod(shape)
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH) + deflated_zeros(size)
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo(f"{name}.npy")
        entry.compress_type, entry.CRC = zipfile.ZIP_DEFLATED, 0
        entry.file_size, entry.compress_size = len(header) + size, len(data)
        entry.header_offset = archive.start_dir
        archive.fp.seek(archive.start_dir)
        archive.fp.write(entry.FileHeader(zip64=False) + data)
        archive.start_dir = archive.fp.tell()
        archive.filelist.append(entry)
        archive.NameToInfo[entry.filename] = entry
        archive._didModify = True
