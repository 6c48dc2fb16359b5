"""Parallel text as word ids, encoded once into files that are mapped into memory.

A cache folder holds `corpus.json` and the files that it names:

- source ids (words, F) and target ids (words,), uint16 or uint32 as the largest id needs;
- lengths (N, 2) int32, words of source and target with EOS;
- offsets (N, 2) int64, where each sentence begins in the ids.

`corpus.json` is written last, so that an encoding counts whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import mmap
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .errors import CgruError, UsageError
from .files import atomic_write
from .lines import LineReader

FORMAT = 1
MANIFEST = "corpus.json"
CHUNK = 4096  # lines encoded together
COUNTED = 1 << 22  # words counted together

PathLike = str | os.PathLike[str]
EncodeSource = Callable[[str], list[tuple[int, ...]]]
EncodeTarget = Callable[[str], list[int]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """N sentence pairs as ids, read from disk when they are asked for.

    lengths: (N, 2) int32, words of source and target, EOS counted
    factors: F, ids of a source word; 0 without a source side, whose lengths are then 1
    skipped: lines left out as "empty" or "too long", and sentence pairs that were "cut"
    fingerprint: SHA-256 of the ids and lengths; equal for equal content
    """

    lengths: np.ndarray
    factors: int
    skipped: dict[str, int]
    fingerprint: str
    _offsets: np.ndarray
    _source: np.ndarray
    _target: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)

    def source(self, i: int) -> np.ndarray:
        """Words of source sentence i, without EOS: (S, F) int32."""
        start = self._offsets[i, 0]
        return self._source[start : start + self.lengths[i, 0] - 1].astype(np.int32)

    def target(self, i: int) -> np.ndarray:
        """Words of target sentence i, without EOS: (T,) int32."""
        start = self._offsets[i, 1]
        return self._target[start : start + self.lengths[i, 1] - 1].astype(np.int32)

    def target_counts(self, words: int) -> np.ndarray:
        """How often each of the ids below `words` stands in the targets, EOS as id 0: (V,)."""
        counts = np.zeros(words, np.int64)
        for first in range(0, len(self._target), COUNTED):
            counts += np.bincount(self._target[first : first + COUNTED], minlength=words)
        counts[0] += len(self)
        return counts


def encode_corpus(
    sources: Sequence[PathLike],
    targets: Sequence[PathLike],
    encode_source: EncodeSource,
    encode_target: EncodeTarget,
    cache: Path,
    *,
    max_length: int,
    crop: bool,
    key: str,
    report: Callable[[int], None] | None = None,
) -> Corpus:
    """Encode files of parallel lines (`.gz` too), or map what `cache` holds of the same files.

    The files are the same if path, size and time of change are; `key` stands for the encoders
    and whatever else decides on the ids. Ids come without EOS; a source word has F of them.
    Pairs with an empty side are left out, and those with a side of more than `max_length` words
    (EOS not counted), unless `crop` cuts that side. `sources` may be (), for a target side alone.
    `report` is told now and then how many lines are done. Only one process at a time may encode
    into a folder; files of an interrupted one are removed.

    Raises CgruError for files that cannot be read, differ in their number of lines or leave no
    pair, and if the cache cannot be written; an encoder's own with file and line in front of it.
    """
    if sources and len(sources) != len(targets):
        raise UsageError(
            f"{len(sources)} source files and {len(targets)} target files; name as many of each"
        )
    identity = {
        "format": FORMAT,
        "key": key,
        "max length": max_length,
        "crop": crop,
        "sources": [_state_of(path) for path in sources],
        "targets": [_state_of(path) for path in targets],
    }
    corpus = _open(cache, identity)
    if corpus is not None:
        return corpus
    encoding = _Encoding(encode_source, encode_target, max_length, crop)
    try:
        os.makedirs(cache, exist_ok=True)
        with encoding.writing(cache):
            for source, target in zip(sources or [None] * len(targets), targets, strict=True):
                for lines in _pairs(source, target):
                    encoding.add(lines)
                    if report is not None:
                        report(encoding.lines)
            encoding.check_not_empty([*sources, *targets])
        manifest = {"identity": identity, **encoding.description()}
        with atomic_write(cache / MANIFEST) as file:
            file.write(json.dumps(manifest, indent=1).encode())
        _remove_all_but(cache, {name for name, _ in manifest["files"].values()})
    except OSError as error:
        raise CgruError(f"{cache}: cannot be written: {error.strerror or error}") from error
    return _open(cache, identity, trusted=True)


def _state_of(path: PathLike) -> list[Any]:
    """What tells whether a file is unchanged; of a pipe, which has no past, something new."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from error
    regular = os.path.isfile(path)
    changed = status.st_mtime_ns if regular else secrets.token_hex(8)
    return [os.path.abspath(path), status.st_size, changed]


def _open(cache: Path, identity: dict[str, Any], trusted: bool = False) -> Corpus | None:
    """The corpus in a folder; None if it is not that of `identity`, or not whole."""
    try:
        manifest = json.loads((cache / MANIFEST).read_bytes())
        if manifest["identity"] != identity:
            return None
        count, factors, words = manifest["pairs"], manifest["factors"], manifest["words"]

        def mapped(name: str, *shape: int) -> np.ndarray:
            file, dtype = manifest["files"][name]
            return _map(cache / file, np.dtype(dtype), shape)

        return Corpus(
            mapped("lengths", count, 2),
            factors,
            manifest["skipped"],
            manifest["fingerprint"],
            mapped("offsets", count, 2),
            mapped("source", words[0], factors),
            mapped("target", words[1]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if trusted:
            raise CgruError(f"{cache}: cannot be read again: {error}") from error
        return None


def _map(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A file as a read-only array. Raises ValueError if it has not the size of the shape."""
    size = math.prod(shape) * dtype.itemsize
    if os.path.getsize(path) != size:
        raise ValueError(f"{path} has not {size} bytes")
    if not size:  # which cannot be mapped
        return np.zeros(shape, dtype)
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype).reshape(shape)


def _remove_all_but(cache: Path, names: set[str]) -> None:
    """Remove files of earlier and of interrupted encodings."""
    for path in cache.iterdir():
        if path.name not in names and path.suffix in (".ids", ".tmp"):
            with contextlib.suppress(OSError):
                path.unlink()


class _Lines(NamedTuple):
    """Some parallel lines, the first of which is line `first` of its file."""

    source: PathLike | None
    target: PathLike
    first: int
    source_lines: list[str] | None
    target_lines: list[str]


def _pairs(source: PathLike | None, target: PathLike) -> Iterator[_Lines]:
    """The lines of two files, CHUNK at a time. Raises CgruError if one file is longer."""
    with contextlib.ExitStack() as stack:
        readers = [
            None if path is None else stack.enter_context(LineReader(os.fspath(path)))
            for path in (source, target)
        ]
        done = 0
        while True:
            ours, theirs = (None if reader is None else reader.take(CHUNK) for reader in readers)
            if ours is not None and len(ours) != len(theirs):
                counts = [done + len(ours), done + len(theirs)]
                for side, reader in enumerate(readers):
                    while rest := reader.window(CHUNK):
                        counts[side] += len(rest)
                raise CgruError(
                    f"{source} has {counts[0]:,} lines and {target} {counts[1]:,};"
                    " line i of one must be the translation of line i of the other"
                )
            if not theirs:
                return
            yield _Lines(source, target, done + 1, ours, theirs)
            done += len(theirs)


def _encode(
    encode: Callable[[str], list[Any]], path: PathLike, first: int, lines: list[str]
) -> list[list[Any]]:
    encoded: list[list[Any]] = []
    try:
        for line in lines:
            encoded.append(encode(line))
    except CgruError as error:
        raise type(error)(f"{path}: line {first + len(encoded)}: {error}") from error
    return encoded


class _Encoding:
    """Encodes lines into the files of a cache, and counts."""

    TYPES: ClassVar = {"source": "<u2", "target": "<u2", "lengths": "<i4", "offsets": "<i8"}

    def __init__(
        self, encode_source: EncodeSource, encode_target: EncodeTarget, max_length: int, crop: bool
    ):
        self.lines = 0
        self._encode_source = encode_source
        self._encode_target = encode_target
        self._max_length = max_length
        self._crop = crop
        self._skipped = {"empty": 0, "too long": 0, "cut": 0}
        self._pairs = 0
        self._words = np.zeros(2, np.int64)
        self._factors: int | None = None
        self._files: dict[str, _Numbers] = {}

    @contextlib.contextmanager
    def writing(self, cache: Path) -> Iterator[None]:
        """Open the files in a folder; at the end they are on the disk, after an error gone."""
        token = secrets.token_hex(6)
        try:
            for name, dtype in self.TYPES.items():
                self._files[name] = _Numbers(cache / f"{name}-{token}.ids", dtype)
            yield
            for file in self._files.values():
                file.finish()
        except BaseException:
            for file in self._files.values():
                file.discard()
            raise

    def add(self, lines: _Lines) -> None:
        targets = _encode(self._encode_target, lines.target, lines.first, lines.target_lines)
        if lines.source is None:
            self._factors = 0
            sources = [[()]] * len(targets)  # one word of no ids, in place of an empty side
        else:
            sources = _encode(self._encode_source, lines.source, lines.first, lines.source_lines)
        self.lines += len(targets)
        kept = list(self._kept(sources, targets))
        if kept:
            self._write(*zip(*kept, strict=True))

    def _kept(self, sources: list, targets: list) -> Iterator[tuple[list, list]]:
        limit, skipped = self._max_length, self._skipped
        for source, target in zip(sources, targets, strict=True):
            if not source or not target:
                skipped["empty"] += 1
            elif len(source) <= limit and len(target) <= limit:
                yield source, target
            elif self._crop:
                skipped["cut"] += 1
                yield source[:limit], target[:limit]
            else:
                skipped["too long"] += 1

    def _write(self, sources: Sequence[list], targets: Sequence[list]) -> None:
        if self._factors is None:
            self._factors = len(sources[0][0])
        chain = itertools.chain.from_iterable
        lengths = np.zeros((len(targets), 2), np.int64)  # without EOS
        lengths[:, 1] = [len(target) for target in targets]
        if self._factors:
            lengths[:, 0] = [len(source) for source in sources]
        source_ids = np.fromiter(chain(chain(sources)), np.int64)
        if len(source_ids) != lengths[:, 0].sum() * self._factors:
            raise ValueError(f"source words with other than {self._factors} factors")
        ends = self._words + np.cumsum(lengths, axis=0)
        self._files["source"].append(source_ids)
        self._files["target"].append(np.fromiter(chain(targets), np.int64))
        self._files["lengths"].append(lengths + 1)
        self._files["offsets"].append(ends - lengths)
        self._words = ends[-1]
        self._pairs += len(targets)

    def check_not_empty(self, paths: Sequence[PathLike]) -> None:
        if self._pairs:
            return
        names = " and ".join(os.fspath(path) for path in paths)
        if not self.lines:
            raise CgruError(f"{names}: no lines to train on; the text is empty")
        raise CgruError(
            f"{names}: nothing is left of {self.lines:,} lines:"
            f" {self._skipped['empty']:,} with an empty side, {self._skipped['too long']:,} of more"
            f" than {self._max_length} words; look at the text, or raise the maximum length"
        )

    def description(self) -> dict[str, Any]:
        digests = [self._files[name].digest.hexdigest() for name in ("source", "target", "lengths")]
        content = json.dumps([FORMAT, self._pairs, self._factors, *digests])
        return {
            "pairs": self._pairs,
            "factors": self._factors,
            "words": self._words.tolist(),
            "skipped": self._skipped,
            "fingerprint": hashlib.sha256(content.encode()).hexdigest(),
            "files": {name: [file.path.name, file.dtype.str] for name, file in self._files.items()},
        }


class _Numbers:
    """A growing file of numbers; 16-bit ones become 32-bit when a number does not fit.

    digest: SHA-256 of the numbers as 32-bit ones, whatever their size in the file.
    """

    def __init__(self, path: Path, dtype: str):
        self.path = path
        self.dtype = np.dtype(dtype)
        self.digest = hashlib.sha256()
        self._file = open(path, "xb")  # noqa: SIM115

    def append(self, values: np.ndarray) -> None:
        if self.dtype.itemsize == 2 and values.size and values.max() > np.iinfo(self.dtype).max:
            self._widen()
        self.digest.update(np.ascontiguousarray(values, "<u4"))
        self._file.write(np.ascontiguousarray(values, self.dtype))

    def _widen(self) -> None:
        """Write the file anew with numbers of twice the size."""
        self._file.close()
        narrow = self.path.with_suffix(".narrow.ids")
        os.replace(self.path, narrow)
        old, self.dtype = self.dtype, np.dtype("<u4")
        self._file = open(self.path, "xb")  # noqa: SIM115
        with open(narrow, "rb") as file:
            while block := file.read(1 << 20):
                self._file.write(np.frombuffer(block, old).astype(self.dtype))
        narrow.unlink()

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        for drop in (
            self._file.close,
            self.path.unlink,
            self.path.with_suffix(".narrow.ids").unlink,
        ):
            with contextlib.suppress(OSError):
                drop()
