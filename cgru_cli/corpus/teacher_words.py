"""A teacher's most probable words at each target word, for word-level distillation.

The file is a NumPy array (.npy) with a row for each word of the target text and for each end of a
sentence, in their order. A row has K entries of five bytes, the most probable first:

- `id` uint16 and `id_high` uint8: the word is id + 65,536 id_high
- `log_probability` float16: the word's natural log-probability, over the whole vocabulary
"""

import numpy as np

from ..errors import CgruError, reading
from ..system.structured_files import sha256
from .parallel_files import PathLike

ENTRY = np.dtype([("id", "<u2"), ("id_high", "u1"), ("log_probability", "<f2")])
CHECKED = 1 << 20  # rows checked together


def entries(ids: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    """The rows of a file: (N,K) of ENTRY from (N,K) each."""
    rows = np.empty(ids.shape, ENTRY)
    rows["id"], rows["id_high"] = ids & 0xFFFF, ids >> 16
    rows["log_probability"] = log_probs
    return rows


def words_and_shares(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words of some rows, (N,K) int32, and their probabilities, (N,K) float32 with sum 1."""
    probabilities = np.exp(rows["log_probability"].astype(np.float32))
    return _ids(rows), probabilities / probabilities.sum(axis=1, keepdims=True)


def from_the_end(lengths: np.ndarray) -> np.ndarray:
    """The places, (W,), of the words of joined sentences from last to first, each EOS still last.

    lengths: of the sentences with EOS, (N,), with sum W.
    """
    ends = np.cumsum(lengths)
    begin, end = np.repeat(ends - lengths, lengths), np.repeat(ends, lengths)
    place = np.arange(len(end))
    return np.where(place == end - 1, place, begin + end - 2 - place)


def read(path: PathLike, words: int, vocabulary: int) -> tuple[np.ndarray, str]:
    """Map a file for a text with `words` target words, including EOS: (words,K) of ENTRY.

    Also returns the SHA-256 of the file. Raises CgruError for a file of another kind, text or
    vocabulary.
    """
    with reading(path):
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise CgruError(f"{path}: not a file of cgru score --word-top-k: {error}") from None
    if rows.dtype != ENTRY or rows.ndim != 2 or not rows.shape[1]:
        raise CgruError(f"{path}: not a file of cgru score --word-top-k")
    if len(rows) != words:
        raise CgruError(
            f"{path} has {len(rows):,} words and the training text {words:,}, "
            "including EOS; score this text with the vocabulary of this training"
        )
    parts = np.array_split(rows, 1 + words // CHECKED)
    largest = max(int(_ids(part).max()) for part in parts)
    if largest >= vocabulary:
        raise CgruError(
            f"{path}: has word {largest:,}, but the target vocabulary has {vocabulary:,} words"
        )
    return np.asarray(rows), sha256(path)


def _ids(rows: np.ndarray) -> np.ndarray:
    ids: np.ndarray = rows["id"] + (rows["id_high"].astype(np.int32) << 16)
    return ids
