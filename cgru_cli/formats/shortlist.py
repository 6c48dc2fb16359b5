"""Marian's shortlists: the target words that may translate each source word.

There are two kinds of files: tables of lexical probabilities (`lex.s2t`) written by fast_align's
`extract_lex`, and binary files made from them by `marian-conv --shortlist` (src/data/shortlist.cpp
of marian-dev).
"""

import io
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..errors import CgruError, note, warn
from ..parameters.structure import EOS_ID
from ..system.plain_numbers import plain_number
from ..system.structured_files import read_bytes
from ..text.vocabulary import Vocabulary

_MAGIC = struct.pack("<Q", 0xF11A48D5013417F5)
_HEADER = struct.Struct("<6Q")  # magic, checksum, FIRST, BEST, offsets, target words
_QUICKSAND = struct.pack("<i", 1234567890)  # a format that only Microsoft's programs write
_KNOWN = 0.1  # warn if the vocabularies know a smaller share of the entries
_NULL = b"NULL"  # the missing side of unaligned words
_MULTIPLE = 8  # the size of Marian's sets of words is a multiple of this


@dataclass(frozen=True)
class Shortlist:
    """The target words that each source word allows, and words that are always allowed.

    first: the number of words at the beginning of the target vocabulary, its most frequent words,
    that are always allowed; offsets (Vs + 1,) and targets: source word i allows the ids
    targets[offsets[i]:offsets[i + 1]]; vocabulary: size of the target vocabulary; shared: whether
    both languages have one vocabulary, so that source words are also their own translations.
    """

    first: int
    offsets: np.ndarray
    targets: np.ndarray
    vocabulary: int
    shared: bool

    def of_words(self, sources: Iterable[int]) -> np.ndarray:
        """The target words that these source words allow: ids (N,), ascending, as in Marian.

        They always include EOS. The next most frequent words fill them up to a multiple of eight,
        which Marian's matrix products need, as far as the vocabulary has words.
        """
        chosen = np.zeros(self.vocabulary, bool)
        chosen[: self.first] = True
        chosen[EOS_ID] = True
        words = np.unique(np.fromiter(sources, np.int64))
        for word in words[words < len(self.offsets) - 1]:
            chosen[self.targets[self.offsets[word] : self.offsets[word + 1]]] = True
        if self.shared:
            chosen[words[words < self.vocabulary]] = True
        missing = -int(chosen.sum()) % _MULTIPLE
        chosen[self.first :][np.flatnonzero(~chosen[self.first :])[:missing]] = True
        return np.flatnonzero(chosen).astype(np.int32)

    @classmethod
    def read(
        cls,
        path: str,
        source: Vocabulary,
        target: Vocabulary,
        first: int = 100,
        best: int = 100,
        prune: float = 0.0,
    ) -> Self:
        """Read a shortlist for these vocabularies: text or binary, gzipped or not.

        Each source word keeps the `best` target words with a probability above `prune`. A binary
        file is used with the numbers that it was made with; first=0 skips its checksum. Raises
        CgruError, naming file and line, for anything but a shortlist for these vocabularies.
        """
        data = read_bytes(path, "shortlist")
        shared = source.fingerprint == target.fingerprint
        if data.startswith(_MAGIC):
            if (first, best, prune) != (100, 100, 0.0):
                note(f"{path}: a binary shortlist, which has its own numbers")
            first, offsets, targets = _binary(data, path, source.size, target.size, first != 0)
        elif data.startswith(_QUICKSAND):
            raise CgruError(f"{path}: a binary shortlist of another program; use lex.s2t as text")
        else:
            offsets, targets = _best(*_text(data, path, source, target), source.size, best, prune)
        return cls(min(first, target.size), offsets, targets, target.size, shared)


def union(shortlists: Sequence[Shortlist], sources: Sequence[Iterable[int]]) -> np.ndarray:
    """The words that any shortlist allows for its own source words: (N,)."""
    chosen = [one.of_words(words) for one, words in zip(shortlists, sources, strict=True)]
    return np.unique(np.concatenate(chosen))


def _text(
    data: bytes, path: str, source: Vocabulary, target: Vocabulary
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Source words, target words and probabilities (N,) of a table `target source probability`.

    Words that a vocabulary lacks become its unknown word, as in Marian.
    """
    source_ids, target_ids = (
        {word.encode("utf-8"): i for i, word in vocabulary.words.items()}
        for vocabulary in (source, target)
    )
    entries: dict[tuple[int, int], float] = {}  # the last entry of a pair counts
    count = known = turned = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        fields = line.split()
        if not fields:
            continue
        try:
            t, s, text = fields
            probability = plain_number(float, text)
        except ValueError:
            probability = math.nan
        if not 0 <= probability < math.inf:
            shown = line[:60].decode("utf-8", "replace").strip()
            raise CgruError(
                f"{path}:{number}: expected `target source probability` of a shortlist, "
                f"found {shown!r}"
            )
        count += 1
        known += s in source_ids and t in target_ids
        turned += t in source_ids and s in target_ids
        if _NULL in (s, t):
            continue
        pair = source_ids.get(s, source.unk_id), target_ids.get(t, target.unk_id)
        entries[pair] = probability
    files = f"{source.path} and {target.path}"
    if not count:
        raise CgruError(f"{path}: an empty shortlist; lines `target source probability` expected")
    if turned > 2 * known:
        raise CgruError(
            f"{path}: its lines are `source target probability`; a shortlist has the target word "
            "first (the lex.s2t of extract_lex, not the lex.t2s)"
        )
    if not known:
        raise CgruError(
            f"{path}: none of its {count} lines has words of {files}; it is a shortlist of "
            "other vocabularies"
        )
    if known < _KNOWN * count:
        warn(
            f"{path}: only {known} of its {count} lines have words of {files}; it may "
            "belong to other vocabularies"
        )
    pairs = np.array(list(entries), np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array(list(entries.values()), np.float32)


def _best(
    sources: np.ndarray,
    targets: np.ndarray,
    probabilities: np.ndarray,
    size: int,
    best: int,
    prune: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and target words of the best entries of each source word.

    Among equally probable words, greater ids rank higher, as in Marian.
    """
    order = np.lexsort((-targets, -probabilities, sources))
    order = order[probabilities[order] > np.float32(prune)]
    sources, targets = sources[order], targets[order]
    begins = np.searchsorted(sources, sources)  # where the words of the same source word begin
    kept = np.arange(len(sources)) - begins < best
    sources, targets = sources[kept], targets[kept]
    return np.searchsorted(sources, np.arange(size + 1)), targets


def _binary(
    data: bytes, path: str, source_size: int, target_size: int, check: bool
) -> tuple[int, np.ndarray, np.ndarray]:
    """The fields `first`, `offsets` and `targets` of a binary shortlist."""
    if len(data) < _HEADER.size:
        raise CgruError(f"{path}: a binary shortlist that ends in its header; copy it again")
    _, checksum, first, _, offsets_size, targets_size = _HEADER.unpack_from(data)
    expected = _HEADER.size + 8 * offsets_size + 4 * targets_size
    if len(data) != expected:
        raise CgruError(
            f"{path}: a binary shortlist of {len(data)} bytes where its header says {expected}; "
            "copy it again"
        )
    if check and _checksum(data[16:]) != checksum:
        raise CgruError(f"{path}: a damaged binary shortlist (its checksum differs); copy it again")
    offsets = np.frombuffer(data, "<u8", offsets_size, _HEADER.size)
    targets = np.frombuffer(data, "<u4", targets_size, _HEADER.size + 8 * offsets_size)
    if offsets_size != source_size + 1:
        found = f"of {max(0, offsets_size - 1)} source words, the vocabulary has {source_size}"
        raise CgruError(f"{path}: a shortlist {found}; it is a shortlist of other vocabularies")
    if len(targets) and (last := int(targets.max())) >= target_size:
        found = f"with target word {last}, the vocabulary ends at {target_size - 1}"
        raise CgruError(f"{path}: a shortlist {found}; it is a shortlist of other vocabularies")
    steps = np.concatenate([[0], offsets, [targets_size]]).astype(np.uint64)
    if (steps[1:] < steps[:-1]).any() or offsets[-1] != targets_size:
        raise CgruError(f"{path}: a damaged binary shortlist (its offsets); copy it again")
    return first, offsets.astype(np.int64), targets.astype(np.int64)


def _checksum(content: bytes) -> int:
    """Marian's checksum: boost's `hash_combine` over 64-bit words, without remaining bytes."""
    seed, mask = 0, (1 << 64) - 1
    for (word,) in struct.iter_unpack("<Q", content[: len(content) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed
