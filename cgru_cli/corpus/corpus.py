"""Parallel text as word ids, encoded once into columns that are mapped into memory.

A cache folder holds `corpus.json` and the folder of columns that it names (see `columns`). Without
EOS, they have a row for each pair:

- `source` (words, F) and `target` (words,) ids, in 16 or 32 bits;
- `alignment` (points, 2), positions in source and target;
- `weights` float32, of the sentence, or of its target words and EOS;
- `places`, a teacher's row for the first target word;

and for variants that differ between epochs, `kinds` has a row for each line: the kinds of its pairs
(`text/line_variants.py`). `corpus.json` is written last, and a cache without it is ignored. It has
a digest of its content and of the columns, so that a changed cache is encoded again.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import reading, warn, writing
from ..system.atomic_files import atomic_write
from ..text.line_variants import Variants
from .columns import Column, ColumnWriter, in_32_bits
from .encoding import Encoding, Rules
from .parallel_files import Files, PathLike, TsvField
from .text_encoding import TextEncoding

MANIFEST = "corpus.json"
FORMAT = 3
OF_COLUMNS = ".columns"  # suffix of the folder of columns
_TOGETHER = 1 << 12  # rows that are processed together
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, eq=False)
class Corpus:
    """N sentence pairs as ids, read from disk on access; `of_epoch` chooses among their variants.

    columns: `source`, `target` and others by name, with a row for each pair
    skipped: numbers of lines left out as "empty" or "too long", and of sentence pairs "cut"
    fingerprints: SHA-256 of "training text", "alignments", "weights" and "teacher", or "none"
    read: the number of target words read, also in skipped pairs, including EOS
    kinds: a row for each line, the kinds of its pairs, if variants differ between epochs
    right_left: whether targets are encoded from their last word
    """

    columns: Mapping[str, Column]
    skipped: Mapping[str, int]
    fingerprints: Mapping[str, str]
    read: int = 0
    variants: Variants = Variants()  # noqa: RUF009
    kinds: Column | None = None
    right_left: bool = False

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """Words of source and target with EOS: (N, 2) int32; 1 without a source side."""
        return _lengths(self.columns, slice(None)).astype(np.int32)

    def __len__(self) -> int:
        return len(self.columns["target"])

    def of_epoch(self, number: int) -> "Corpus":
        """The pairs of an epoch (from 0), each as the variant that the epoch takes."""
        if self.kinds is None:
            return self
        lines = np.repeat(np.arange(len(self.kinds)), self.kinds.lengths())
        rows = np.flatnonzero(self.kinds.values == self.variants.kinds(lines, number))
        columns = {name: column.select(rows) for name, column in self.columns.items()}
        return dataclasses.replace(self, columns=columns, kinds=None)

    def with_teacher(self, entries: np.ndarray, fingerprint: str) -> "Corpus":
        """The corpus with a column `teacher`, whose entries are for all words read."""
        begins = self.columns["places"].values
        column = Column(entries, begins, begins + self.columns["target"].lengths() + 1)
        return dataclasses.replace(
            self,
            columns={**self.columns, "teacher": column},
            fingerprints={**self.fingerprints, "teacher": fingerprint},
        )

    def target_counts(self, words: int) -> np.ndarray:
        """The counts of the ids below `words` in the targets, with EOS as id 0: (words,)."""
        counts = np.zeros(words, np.int64)
        for first in range(0, len(self), _TOGETHER):
            ids = self.columns["target"].joined(slice(first, first + _TOGETHER))
            counts += np.bincount(ids, minlength=words)
        counts[0] += len(self)
        return counts


def encode_corpus(
    texts: Sequence[Files],
    encoder: TextEncoding,
    rules: Rules,
    cache: Path,
    spare: Path | None = None,
) -> Corpus:
    """Encode files of parallel lines (`.gz` too), or map the columns of `cache` if made from these.

    Files are the same if path, size and modification time are the same. Skips pairs with an empty
    side or a side that is too long. Only one process at a time may encode into a folder; this
    removes the files of interrupted processes. `spare` is a folder to encode into if `cache`
    belongs to another process and is read-only.

    Raises CgruError for files that cannot be read, differ in their number of lines or leave no
    pair, and for a cache that cannot be written. Errors of encoders, alignments and weights name
    file and line. Warns of alignments that seem to count from 1.
    """
    identity = {
        "format": FORMAT,
        "files": [[path and _state_of(path) for path in files[:4]] for files in texts],
        "factors": [files.factor for files in texts],
        "ids": encoder.fingerprint,
        "rules": dataclasses.asdict(rules),
    }
    identity = json.loads(json.dumps(identity))  # as it comes back from a manifest
    corpus = open_cache(cache, identity)
    if corpus is not None:
        return corpus
    cache = spare or cache
    folder = cache / f"{secrets.token_hex(6)}{OF_COLUMNS}"
    with writing(cache), _complete(folder):
        encoding = _encode(texts, encoder, rules, folder)
        columns, _ = _columns(folder)
        manifest: dict[str, Any] = {
            "identity": identity,
            "columns": folder.name,
            "skipped": encoding.skipped,
            "read": encoding.read,
            "fingerprints": _fingerprints(columns, encoding.digests, rules.variants),
        }
        manifest["digest"] = _digest(manifest, folder)
        with atomic_write(cache / MANIFEST) as file:
            file.write(json.dumps(manifest, indent=1).encode())
        _remove_others(cache, folder)
    points = columns["alignment"].values if "alignment" in columns else np.zeros(0)
    if len(points) and points.min() > 0:
        warn(
            f"{texts[0].alignment}: no first word is aligned to anything; alignments count words "
            "from 0"
        )
    return _corpus(manifest, cache)


def _state_of(path: PathLike) -> list[Any]:
    """Path, size and modification time of a file; for a pipe, a new token each time."""
    with reading(path):
        status = os.stat(path)
    regular = os.path.isfile(path)
    changed = status.st_mtime_ns if regular else secrets.token_hex(8)
    field = [path.number, path.fields] if isinstance(path, TsvField) else []
    return [os.path.abspath(path), status.st_size, changed, *field]


@contextlib.contextmanager
def _complete(folder: Path) -> Iterator[None]:
    """Make a folder, and remove it after an error in the block."""
    folder.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _encode(texts: Sequence[Files], encoder: TextEncoding, rules: Rules, folder: Path) -> Encoding:
    """Write the columns of a text into a folder."""
    (source, target), position = encoder.types, "<u2" if rules.max_length < 1 << 16 else "<u4"
    types: dict[str, tuple[Any, tuple[int, ...]]]
    types = {"source": (source, (encoder.factors,)), "target": (target, ())}
    if any(files.alignment is not None for files in texts):
        types["alignment"] = position, (2,)
    if any(files.weight is not None or files.factor is not None for files in texts):
        types["weights"] = "<f4", ()
    if rules.places:
        types["places"] = "<i8", ()
    if rules.variants.drawn:
        types["kinds"] = "u1", ()
    with contextlib.ExitStack() as stack:
        columns = {
            name: stack.enter_context(ColumnWriter(folder / name, *of_values))
            for name, of_values in types.items()
        }
        encoding = Encoding(encoder, rules, columns)
        for files in texts:
            encoding.add(files)
        paths = [files.source for files in texts] + [files.target for files in texts]
        encoding.check([path for path in paths if path is not None])
    return encoding


def _remove_others(cache: Path, kept: Path) -> None:
    """Remove what earlier and interrupted encodings left in a cache."""
    for path in cache.iterdir():
        if path.suffix == OF_COLUMNS and path != kept:
            shutil.rmtree(path, ignore_errors=True)
        elif path.suffix in (".ids", ".tmp"):  # of earlier versions, of `atomic_write`
            with contextlib.suppress(OSError):
                path.unlink()


def open_cache(cache: Path, identity: dict[str, Any] | None = None) -> Corpus | None:
    """The corpus in a folder; None if it was changed, or made from other files or rules.

    identity: that of files and rules, None for any.
    """
    try:
        return _read(cache, identity)
    except _UNREADABLE:
        return None


def is_outdated(cache: Path) -> bool:
    """Whether an earlier version of cgru wrote this cache, in another format."""
    try:
        return bool(json.loads((cache / MANIFEST).read_bytes())["identity"]["format"] < FORMAT)
    except _UNREADABLE:
        return False


def _read(cache: Path, identity: dict[str, Any] | None) -> Corpus:
    """Read a cache, like `open_cache`. Raises one of _UNREADABLE."""
    manifest = json.loads((cache / MANIFEST).read_bytes())
    if identity not in (None, manifest["identity"]):
        raise ValueError("it holds another text")
    folder = cache / manifest["columns"]
    if manifest["digest"] != _digest(manifest, folder):
        raise ValueError("its files were changed")
    return _corpus(manifest, cache)


def _corpus(manifest: dict[str, Any], cache: Path) -> Corpus:
    """Map the columns of a cache with this manifest."""
    columns, kinds = _columns(cache / manifest["columns"])
    rules = manifest["identity"]["rules"]
    return Corpus(
        columns,
        manifest["skipped"],
        manifest["fingerprints"],
        manifest["read"],
        Variants(**rules["variants"]),
        kinds,
        rules["reverses"] != "none",
    )


def _columns(folder: Path) -> tuple[dict[str, Column], Column | None]:
    """The columns of pairs by name, and the kinds of lines."""
    names = (path.name.partition(".")[0] for path in folder.glob("*.ends.npy"))
    columns = {name: Column.open(folder / name) for name in names}
    return columns, columns.pop("kinds", None)


def _digest(manifest: dict[str, Any], folder: Path) -> str:
    """SHA-256 of the manifest's other values and of the files, to detect changes."""
    others = {name: value for name, value in manifest.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(others, sort_keys=True).encode())
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode())
        with open(path, "rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def _fingerprints(
    columns: Mapping[str, Column], values: Mapping[str, str], variants: Variants
) -> dict[str, str]:
    """The fingerprints of a corpus, which do not depend on the types of its files.

    values: digests of the columns' values (`Encoding.digests`). Runs store the fingerprints, which
    must not change from version to version.
    """
    pairs, factors = len(columns["target"]), columns["source"].values.shape[1]
    drawn = [str(variants)] if variants.drawn else []

    def of(*digests: str) -> str:
        content = json.dumps([2, pairs, factors, *digests, *drawn])
        return hashlib.sha256(content.encode()).hexdigest()

    lengths = _sha256(pairs, lambda rows: _lengths(columns, rows))
    prints = {"training text": of(values["source"], values["target"], lengths)}
    prints |= dict.fromkeys(("alignments", "weights", "teacher"), "none")
    if points := columns.get("alignment"):
        spans = _sha256(pairs, lambda rows: np.stack([points.begins[rows], points.ends[rows]], 1))
        prints["alignments"] = of(values["alignment"], spans)
    if "weights" in columns:
        prints["weights"] = of(values["weights"])
    return prints


def _lengths(columns: Mapping[str, Column], rows: slice) -> np.ndarray:
    return 1 + np.stack([columns[side].lengths(rows) for side in ("source", "target")], axis=1)


def _sha256(count: int, part: Callable[[slice], np.ndarray]) -> str:
    """SHA-256 of `count` rows in numbers of 32 bits; part: returns some of the rows."""
    digest = hashlib.sha256()
    for first in range(0, count, _TOGETHER):
        digest.update(in_32_bits(part(slice(first, first + _TOGETHER))))
    return digest.hexdigest()
