"""Parallel text as word ids, encoded once into memory-mapped files.

A cache folder holds `corpus.json` and the files that it names:

- source ids (words, F) and target ids (words,), uint16, or uint32 for large ids;
- lengths (N, 2) int32, words of source and target with EOS;
- offsets (N, 2) int64, where each sentence begins in the ids;
- for word alignments, points (P, 2), and spans (N, 2) int64, where the points of each pair are;
- weights (N,) float32 of sentences, or (words + N,) of target words and EOS;
- for a teacher's words, places (N,) int64: the first row of each pair;
- for variants that differ between epochs, variants (N, 2) int64: the number of each pair's line,
  and its kind (`text/line_variants.py`).

`corpus.json` is written last, and a cache without it is ignored. It has digests of itself and of
the files, so that a changed cache is encoded again.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, UsageError, reading, writing
from ..system.atomic_files import atomic_write
from ..text.line_variants import Variants
from .data_weights import DataWeights
from .encoding import FORMAT, CheckPair, EncodeSource, EncodeTarget, Encoding
from .number_files import file_digest, mapped
from .parallel_files import Beside, PathLike, TsvColumn, files_of
from .teacher_words import TeacherWords
from .word_alignments import Alignments

MANIFEST = "corpus.json"
COUNTED = 1 << 16  # pairs whose words are counted together


@dataclass(frozen=True, eq=False)
class Corpus:
    """N sentence pairs as ids, read from disk on access; `of_epoch` chooses among their variants.

    lengths: (N, 2) int32, words of source and target, including EOS
    factors: F, ids of a source word; 0 without a source side, which then has lengths 1
    skipped: numbers of lines left out as "empty" or "too long", and of sentence pairs "cut"
    fingerprint: SHA-256 of the ids and lengths
    alignments, weights, teacher: those of the pairs, or None
    places, read: for a teacher's words, the first row of each pair, and the number of all words
    read, with the ends of sentences
    """

    lengths: np.ndarray
    factors: int
    skipped: dict[str, int]
    fingerprint: str
    _offsets: np.ndarray
    _source: np.ndarray
    _target: np.ndarray
    alignments: Alignments | None = None
    weights: DataWeights | None = None
    places: np.ndarray | None = None
    read: int = 0
    teacher: TeacherWords | None = None
    variants: Variants = Variants()  # noqa: RUF009
    _kinds: np.ndarray | None = None  # (N, 2), if variants differ between epochs

    def of_epoch(self, number: int) -> "Corpus":
        """The pairs of an epoch (from 0), each as the variant that the epoch takes."""
        if self._kinds is None:
            return self
        lines, kinds = self._kinds.T
        rows = np.flatnonzero(kinds == self.variants.kinds(lines, number))
        return dataclasses.replace(
            self,
            lengths=self.lengths[rows],
            _offsets=self._offsets[rows],
            alignments=self.alignments and self.alignments.of(rows),
            weights=self.weights and self.weights.of(rows),
            _kinds=None,
        )

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
        """The counts of the ids below `words` in the targets, with EOS as id 0: (words,)."""
        counts = np.zeros(words, np.int64)
        for first in range(0, len(self), COUNTED):
            length = self.lengths[first : first + COUNTED, 1] - 1
            before = np.cumsum(length) - length
            places = np.repeat(self._offsets[first : first + COUNTED, 1] - before, length)
            ids = self._target[places + np.arange(len(places))]
            counts += np.bincount(ids, minlength=words)
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
    beside: Beside | None = None,
    spare: Path | None = None,
    check_pair: CheckPair | None = None,
    variants: Variants = Variants(),  # noqa: B008
) -> Corpus:
    """Encode files of parallel lines (`.gz` too), or map the files of `cache` if they are the same.

    Files are the same if path, size, modification time and `key` are the same; `key` stands for the
    encoders and everything else that determines the ids. Encoders return ids without EOS, F for a
    source word. Skips pairs with an empty side or a side of more than `max_length` words (excluding
    EOS), unless `crop` cuts that side, with its alignments and weights. `sources` may be (), for
    only a target side. `check_pair` raises CgruError for sides that do not match. Only one process
    at a time may encode into a folder; this removes the files of interrupted processes. `spare` is
    a folder to encode into if `cache` belongs to another process and is read-only. `variants`
    change lines before they are encoded.

    Raises CgruError for files that cannot be read, differ in their number of lines or leave no
    pair, and for a cache that cannot be written. Errors of encoders, alignments and weights name
    file and line.
    """
    beside = beside or Beside()
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
        "alignments": [_state_of(path) for path in beside.alignments],
        "weights": [_state_of(path) for path in beside.weights],
        "places": beside.places,
        "by word": beside.by_word,
        "domains": list(beside.domains),
        "from end": "both" if beside.both_from_end else beside.from_end,
    }
    corpus = open_cache(cache, identity, variants)
    if corpus is not None:
        return corpus
    cache = spare or cache
    encoding = Encoding(
        encode_source, encode_target, max_length, crop, beside, check_pair, variants
    )
    with writing(cache):
        os.makedirs(cache, exist_ok=True)
        with encoding.writing(cache):
            for files in files_of(sources, targets, beside):
                encoding.add(files)
            encoding.check([*sources, *targets])
        manifest = _sealed({"identity": identity, **encoding.description()})
        with atomic_write(cache / MANIFEST) as file:
            file.write(json.dumps(manifest, indent=1).encode())
        kept = {name for name, _ in manifest["files"].values()}
        for path in cache.iterdir():  # files of earlier and interrupted encodings
            if path.name not in kept and path.suffix in (".ids", ".tmp"):
                with contextlib.suppress(OSError):
                    path.unlink()
    written = open_cache(cache, identity, variants, trusted=True)
    if written is None:
        raise CgruError(f"{cache}: another program changed it; run the command again")
    return written


def _state_of(path: PathLike) -> list[Any]:
    """Path, size and modification time of a file; for a pipe, a new token each time."""
    with reading(path):
        status = os.stat(path)
    regular = os.path.isfile(path)
    changed = status.st_mtime_ns if regular else secrets.token_hex(8)
    column = [path.column, path.columns] if isinstance(path, TsvColumn) else []
    return [os.path.abspath(path), status.st_size, changed, *column]


def open_cache(
    cache: Path,
    identity: dict[str, Any] | None = None,
    variants: Variants = Variants(),  # noqa: B008
    trusted: bool = False,
) -> Corpus | None:
    """The corpus in a folder; None if it was changed, or made from other files or options.

    identity: that of the files and options, None for any; variants: those of the encoded text.
    trusted: whether it was just written; if so, raises CgruError if it is unreadable.
    """
    try:
        manifest = json.loads((cache / MANIFEST).read_bytes())
        identity = identity or manifest["identity"]
        if manifest["identity"] != identity or manifest != _sealed(manifest):
            return None
        for name, (file, _) in manifest["files"].items():
            if file_digest(cache / file) != manifest["sha256"][name]:
                return None
        count, factors, words = manifest["pairs"], manifest["factors"], manifest["words"]

        def read(name: str, *shape: int) -> np.ndarray:
            file, dtype = manifest["files"][name]
            return mapped(cache / file, np.dtype(dtype), shape)

        offsets = read("offsets", count, 2)
        alignments = weights = places = None
        if manifest["alignments"]:
            points = read("points", manifest["points"], 2)
            alignments = Alignments(manifest["alignments"], points, read("spans", count, 2))
        if manifest["weights"]:
            by_word = identity["by word"]
            values = read("weights", words[1] + count if by_word else count)
            # each EOS adds a place between the words of two sentences
            first = np.arange(count) + (offsets[:, 1] if by_word else 0)
            weights = DataWeights(manifest["weights"], by_word, values, first)
        if identity["places"]:
            places = read("places", count)
        return Corpus(
            read("lengths", count, 2),
            factors,
            manifest["skipped"],
            manifest["fingerprint"],
            offsets,
            read("source", words[0], factors),
            read("target", words[1]),
            alignments,
            weights,
            places,
            manifest["read"],
            variants=variants,
            _kinds=read("variants", count, 2) if variants.drawn else None,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if trusted:
            raise CgruError(f"{cache}: cannot be read again: {error}") from error
        return None


def _sealed(manifest: dict[str, Any]) -> dict[str, Any]:
    """The values with their digest, to detect changes."""
    rest = {name: value for name, value in manifest.items() if name != "digest"}
    content = json.dumps(rest, sort_keys=True).encode()
    return {**rest, "digest": hashlib.sha256(content).hexdigest()}
