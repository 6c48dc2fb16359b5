"""Word alignments of sentence pairs in fast_align's format, `0-0 1-2` (source-target).

Positions count the words that the model reads, from 0; the position after the last is EOS.
"""

import dataclasses
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
    """The alignments of N sentence pairs. fingerprint: SHA-256 of the alignments."""

    fingerprint: str
    _points: np.ndarray  # (P,2)
    _spans: np.ndarray  # (N,2) int64: where each pair's points begin and end

    @property
    def count(self) -> int:
        """The number of points."""
        return int(np.diff(self._spans).sum())

    def of(self, pairs: np.ndarray) -> "Alignments":
        """The alignments of these pairs."""
        return dataclasses.replace(self, _spans=self._spans[pairs])

    def points(self, i: int) -> np.ndarray:
        """Positions in source and target of pair i: (P,2) int32."""
        first, end = self._spans[i]
        return self._points[first:end].astype(np.int32)

    def matrix(self, pairs: Sequence[int] | np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """Alignments of target words as weights that sum to 1 over source words: (B,T,S) float32.

        shape: (B,T,S), B at least the number of pairs. Words without alignment have weights 0.
        """
        matrix = np.zeros(shape, np.float32)
        for row, pair in enumerate(pairs):
            source, target = self.points(pair).T
            matrix[row, target, source] = 1.0
        return matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1.0)


def parse(line: str, source_words: int, target_words: int) -> list[Point]:
    """Parse a line; returns its points, sorted, without repetitions.

    The numbers of words exclude EOS. Raises CgruError for points outside the pair.
    """
    points = set()
    for token in tokens(line):
        match = _POINT.fullmatch(token)
        if match is None:
            raise CgruError(f"{token!r} is not an alignment; points like 0-0 1-2 are expected")
        point = int(match[1]), int(match[2])
        sides = (point[0], source_words, "source"), (point[1], target_words, "target")
        for place, words, side in sides:
            if place > words:
                raise CgruError(
                    f"{token} points beyond the sentence: the {side} has {words} words, counted "
                    f"from 0, and EOS at {words}"
                )
        points.add(point)
    return sorted(points)


def from_end(
    points: Sequence[Point], target_words: int, source_words: int | None = None
) -> list[Point]:
    """The points of a reversed target; EOS remains last. source_words: reverse both sides."""

    def turned(place: int, words: int | None) -> int:
        return place if words is None or place >= words else words - 1 - place

    return sorted((turned(i, source_words), turned(j, target_words)) for i, j in points)


def cut(points: Sequence[Point], source_words: int, target_words: int, limit: int) -> list[Point]:
    """The points that remain after cutting sides to `limit` words; a cut side loses its EOS."""
    return [
        (i, j)
        for i, j in points
        if (i < limit or source_words <= limit) and (j < limit or target_words <= limit)
    ]


def follow(
    points: Sequence[Point], source: tuple[Sequence[int], ...], target: tuple[Sequence[int], ...]
) -> list[Point]:
    """The points of a pair whose words are split into other sub-words.

    source, target: the numbers of sub-words of each word, before and after; words missing at the
    end lose their points. The points of a sub-word go to the new sub-words in the same part of the
    word. EOS remains last.
    """
    sources, targets = _followed(*source), _followed(*target)
    return sorted({(i, j) for s, t in points for i in sources[s] for j in targets[t]})


def _followed(before: Sequence[int], after: Sequence[int]) -> list[range]:
    """The new places of each sub-word, and of EOS."""
    places, start = [], 0
    for number, old in enumerate(before):
        new = after[number] if number < len(after) else 0
        for i in range(old):
            places.append(range(start + i * new // old, start + -(-(i + 1) * new // old)))
        start += new
    return [*places, range(start, start + 1)]
