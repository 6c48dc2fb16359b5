"""Word alignments of sentence pairs in fast_align's format, `0-0 1-2` (source-target).

Positions count the words that the model reads, from 0; the position after the last is EOS.
"""

import re
from collections.abc import Sequence

from ..errors import CgruError
from ..system.lines import tokens

Point = tuple[int, int]  # positions in source and target

_POINT = re.compile(r"([0-9]{1,40})-([0-9]{1,40})")


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
