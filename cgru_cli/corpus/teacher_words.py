"""A teacher's most probable words at each target word, for word-level distillation.

The file is a NumPy array (.npy) with a row for each word of the target text and for each end of a
sentence, in their order. A row has K entries of five bytes, the most probable first:

- `id` uint16 and `id_high` uint8: the word is id + 65,536 id_high
- `log_probability` float16: the word's natural log-probability, over the whole vocabulary
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ..errors import CgruError, reading
from .number_files import file_digest

ENTRY = np.dtype([("id", "<u2"), ("id_high", "u1"), ("log_probability", "<f2")])
CHECKED = 1 << 20  # rows checked together


class TeacherWriter:
    """Writes the rows of a file; `close` completes it."""

    def __init__(self, file: BinaryIO, k: int):
        self._file, self._k, self._rows = file, k, 0
        self._header()

    def _header(self) -> None:
        shape = self._rows, self._k
        described = np.lib.format.dtype_to_descr(ENTRY)
        header = {"descr": described, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)  # the same size for any shape

    def write(self, ids: np.ndarray, log_probs: np.ndarray) -> None:
        """Add rows: (N,K) each."""
        entries = np.empty(ids.shape, ENTRY)
        entries["id"], entries["id_high"] = ids & 0xFFFF, ids >> 16
        entries["log_probability"] = log_probs
        self._file.write(entries.tobytes())
        self._rows += len(ids)

    def close(self) -> None:
        """Write the number of rows into the header."""
        self._file.seek(0)
        self._header()


@dataclass(frozen=True, eq=False)
class TeacherWords:
    """A teacher's words for N sentence pairs. fingerprint: SHA-256 of the file."""

    fingerprint: str
    _entries: np.ndarray  # (W,K) of ENTRY
    _first: np.ndarray  # (N,) int64: the row of each pair's first target word

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], first: np.ndarray, words: int, vocabulary: int
    ) -> TeacherWords:
        """Read a file for a text with `words` target words and ends of sentences.

        Raises CgruError for a file of another kind, text or vocabulary.
        """
        with reading(path):
            try:
                entries = np.load(path, mmap_mode="r", allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise CgruError(f"{path}: not a file of cgru score --word-top-k: {error}") from None
            digest = file_digest(path)
        if entries.dtype != ENTRY or entries.ndim != 2 or not entries.shape[1]:
            raise CgruError(f"{path}: not a file of cgru score --word-top-k")
        if len(entries) != words:
            raise CgruError(
                f"{path} has {len(entries):,} words and the training text {words:,}, with the ends "
                "of its sentences; score this text, in the vocabulary of this training"
            )
        parts = np.array_split(entries, 1 + words // CHECKED)
        largest = max(int(_ids(part).max()) for part in parts)
        if largest >= vocabulary:
            raise CgruError(
                f"{path}: has word {largest:,}, but the target vocabulary has {vocabulary:,} words"
            )
        return cls(digest, entries, first)

    @property
    def k(self) -> int:
        """The number of words in a row."""
        return int(self._entries.shape[1])

    def of_pair(self, i: int, words: int) -> tuple[np.ndarray, np.ndarray]:
        """The words of pair i, whose target has T = `words` words with EOS: (T,K) int32.

        Also returns their probabilities, normalised in each row: (T,K) float32.
        """
        rows = self._entries[self._first[i] : self._first[i] + words]
        probabilities = np.exp(rows["log_probability"].astype(np.float32))
        return _ids(rows), probabilities / probabilities.sum(axis=1, keepdims=True)


def _ids(entries: np.ndarray) -> np.ndarray:
    ids: np.ndarray = entries["id"] + (entries["id_high"].astype(np.int32) << 16)
    return ids
