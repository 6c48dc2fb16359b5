"""Small files that unpack to gigabytes or are otherwise malicious."""

import contextlib
import functools
import io
import json
import math
import resource
import time
import tracemalloc
import zipfile
import zlib

import numpy as np
import yaml

from cgru_cli.errors import CgruError

# Fast processors do the work of `_slowness` in this time.
_USUAL_SECONDS = 0.1
# A limit only tells a linear time from a quadratic or exponential one, which would be minutes or
# hours, so it has room for a hyper-thread, cache or clock shared with other processes.
_ROOM = 3


@functools.cache
def _slowness() -> float:
    """How much slower this processor is than a fast one, at least 1, at parsing and unpacking."""
    packed = zlib.compress(bytes(1 << 22))
    text = json.dumps([{"name": str(i), "value": i} for i in range(50)])
    tracemalloc.start()  # it takes most of the time in `bounded` too
    start = time.process_time()
    zlib.decompress(packed)
    yaml.safe_load(text)
    spent = time.process_time() - start
    tracemalloc.stop()
    return max(1.0, spent / _USUAL_SECONDS)


@contextlib.contextmanager
def bounded(seconds: float = 10.0, mebibytes: float = 200.0):
    """Fail if the block exceeds its limits of time or memory.

    seconds: of processor time on a fast processor, so that slower ones pass too.
    """
    allowed = _ROOM * _slowness() * seconds
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
    assert spent < allowed, f"{spent:.1f} s, {allowed:.1f} s are allowed"
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
