"""Count words exactly in bounded memory, and find the most frequent words."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from itertools import groupby
from pathlib import Path

LARGEST = 1_000_000  # maximum number of different words in memory


class WordCounts:
    """Counts of words; more than `largest` different words are sorted on disk and merged."""

    def __init__(self, folder: Path, name: str, largest: int = LARGEST):
        self._folder, self._name, self._largest = folder, name, largest
        self._counts: Counter[str] = Counter()
        self._runs: list[Path] = []

    def add(self, counts: Counter[str]) -> None:
        self._counts.update(counts)
        if len(self._counts) > self._largest:
            path = self._folder / f"{self._name}.{len(self._runs)}"
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{word} {n}\n" for word, n in sorted(self._counts.items()))
            self._runs.append(path)
            self._counts.clear()

    def most_common(self, limit: int, without: Container[str] = ()) -> list[str]:
        """At most `limit` words (0: all) by falling count, then by code points."""
        ordered = ((-count, word) for word, count in self._merged() if word not in without)
        chosen = heapq.nsmallest(limit, ordered) if limit else sorted(ordered)
        return [word for _, word in chosen]

    def _merged(self) -> Iterable[tuple[str, int]]:
        if not self._runs:
            return self._counts.items()
        runs = [_read(path) for path in self._runs]
        merged = heapq.merge(*runs, sorted(self._counts.items()))
        groups = groupby(merged, key=lambda item: item[0])
        return ((word, sum(count for _, count in group)) for word, group in groups)


def _read(path: Path) -> Iterator[tuple[str, int]]:
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            word, _, count = line.rpartition(" ")
            yield word, int(count)
