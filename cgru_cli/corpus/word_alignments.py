"""Word alignments of sentence pairs, as fast_align writes them: `0-0 1-2`, source-target.

Positions count the words as the model reads them, from 0; the one behind the last is EOS.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CgruError
from ..system.lines import tokens

Point = tuple[int, int]  # positions in source and target

_POINT = re.compile(r"([0-9]{1,40})-([0-9]{1,40})")


@dataclass(frozen=True, eq=False)
class Alignments:
    """The alignments of N sentence pairs.

    fingerprint: SHA-256 of them; equal for equal content
    """

    fingerprint: str
    _points: np.ndarray  # (P,2)
    _spans: np.ndarray  # (N,2) int64: where each pair's points begin and end

    @property
    def count(self) -> int:
        """The number of points."""
        return len(self._points)

    def points(self, i: int) -> np.ndarray:
        """Positions in source and target of pair i: (P,2) int32."""
        first, end = self._spans[i]
        return self._points[first:end].astype(np.int32)

    def matrix(self, pairs: Sequence[int] | np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """Target words' alignments as shares that sum to 1 over source words: (B,T,S) float32.

        shape: (B,T,S), B at least the number of pairs; rows of words without alignment are zeros.
        """
        matrix = np.zeros(shape, np.float32)
        for row, pair in enumerate(pairs):
            source, target = self.points(pair).T
            matrix[row, target, source] = 1.0
        return matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1.0)


def parse(line: str, source_words: int, target_words: int) -> list[Point]:
    """The points of a line, each once, sorted.

    Words are counted without EOS. Raises CgruError for what is no point of this pair.
    """
    points = set()
    for token in tokens(line):
        match = _POINT.fullmatch(token)
        if match is None:
            raise CgruError(f"{token!r} is no alignment; points as 0-0 1-2 are expected")
        point = int(match[1]), int(match[2])
        for place, words, side in zip(
            point, (source_words, target_words), ("source", "target"), strict=True
        ):
            if place > words:
                raise CgruError(
                    f"{token} is beyond the sentence: its {side} has {words} words, counted from "
                    f"0, and EOS at {words}"
                )
        points.add(point)
    return sorted(points)


def from_end(
    points: Sequence[Point], target_words: int, source_words: int | None = None
) -> list[Point]:
    """The points where words are counted from the last one on; EOS stays behind them.

    source_words: given where those of the source are counted so too.
    """

    def turned(place: int, words: int | None) -> int:
        return place if words is None or place >= words else words - 1 - place

    return sorted((turned(i, source_words), turned(j, target_words)) for i, j in points)


def cut(points: Sequence[Point], source_words: int, target_words: int, limit: int) -> list[Point]:
    """The points that remain when sides are cut to `limit` words; EOS of a cut side is dropped."""
    return [
        (i, j)
        for i, j in points
        if (i < limit or source_words <= limit) and (j < limit or target_words <= limit)
    ]
