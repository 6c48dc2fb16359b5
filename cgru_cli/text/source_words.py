"""Lines of text as the words and ids that a model reads, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import CgruError, warn
from ..parameters.structure import EOS_ID
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .pipeline import Preprocessing


def source_ids(words: Sequence[str], vocabularies: Sequence[Vocabulary]) -> list[tuple[int, ...]]:
    """Word ids, one of each factor, without EOS.

    Raises CgruError where a word has another number of factors than there are vocabularies.
    """
    if len(vocabularies) == 1:
        return [(i,) for i in vocabularies[0].encode(words)]
    columns = []
    for word in words:
        factors = word.split("|")
        if len(factors) != len(vocabularies):
            raise CgruError(
                f"{word!r} has {len(factors)} factors, expected {len(vocabularies)} "
                "(word|factor|..)"
            )
        columns.append(factors)
    if not columns:
        return []
    by_factor = zip(*columns, strict=True)
    ids = [v.encode(column) for v, column in zip(vocabularies, by_factor, strict=True)]
    return list(zip(*ids, strict=True))


class SourceLines:
    """Lines of text as the words that a model reads, of long ones the first."""

    def __init__(
        self,
        tokenize: Callable[[str], list[str]],
        preprocessing: Preprocessing | None,
        *,
        longest: int,
    ):
        """tokenize: a prepared line to words; longest: words that are read of a line."""
        self._tokenize, self._preprocessing = tokenize, preprocessing
        self._longest, self._cut = longest, 0

    def words(self, line: str, number: int) -> list[str]:
        """The words of a line (counted from 0). Raises CgruError where it cannot be prepared."""
        words = self._tokenize(prepared(self._preprocessing, line, "source", number))
        if len(words) > self._longest:
            if not self._cut:
                warn(
                    f"line {number + 1} has {len(words)} words; cut to --max-length {self._longest}"
                )
            self._cut += 1
            words = words[: self._longest]
        return words

    def report(self) -> None:
        """Say how much was cut, once, at the end."""
        if self._cut > 1:
            warn(f"{self._cut} lines were cut to --max-length {self._longest}")


def prepared(
    preprocessing: Preprocessing | None, line: str, side: Literal["source", "target"], number: int
) -> str:
    """A line (counted from 0) of raw text, prepared. Raises CgruError, naming the line."""
    if preprocessing is None:
        return line
    try:
        return preprocessing.apply(line, side)
    except CgruError as error:
        raise CgruError(f"line {number + 1}: {error}") from error


def pad_ids(
    lines: Sequence[Sequence[tuple[int, ...]]], factors: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Ids (B,S,F) ended and padded by EOS, and the mask (B,S)."""
    longest = max(len(words) for words in lines) + 1
    ids = np.full((len(lines), longest, factors), EOS_ID, np.int32)
    mask = np.zeros((len(lines), longest), np.float32)
    for row, words in enumerate(lines):
        if words:
            ids[row, : len(words)] = np.reshape(words, (-1, factors))
        mask[row, : len(words) + 1] = 1
    return ids, mask
