"""Reads lines in windows, cuts these into batches of similar length, and restores the order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from .lines import LineReader

Item = TypeVar("Item")
Result = TypeVar("Result")


def windows(
    reader: LineReader, mini_batch: int, maxi_batch: int, token_limit: int | None = None
) -> Iterator[list[str]]:
    """All lines in windows of up to mini_batch * maxi_batch lines.

    The first has one line, and each following one sixteen times as many, so that the first
    translation comes early and few batches are small.
    """
    rows = sizes(mini_batch * maxi_batch)
    while lines := reader.window(next(rows), token_limit):
        yield lines


def sizes(largest: int, *, growing: bool = True) -> Iterator[int]:
    """The sizes of windows: 1, 16, 256, ..., largest; without growing, always the largest."""
    size = 1 if growing else largest
    while True:
        yield size
        size = min(16 * size, largest)


def in_order(
    items: Iterator[Item],
    window_sizes: Iterator[int],
    compute: Callable[[list[Item], int], Iterator[tuple[int, Result]]],
) -> Iterator[Result]:
    """The results of items, in their order, as they get ready.

    compute: from the items of a window and the number of the first to numbers and results.
    """
    ready: dict[int, Result] = {}
    number = first = 0
    while window := list(islice(items, next(window_sizes))):
        for place, result in compute(window, first):
            ready[place] = result
            while number in ready:
                yield ready.pop(number)
                number += 1
        first += len(window)


def batches(lengths: Sequence[int], mini_batch: int, max_tokens: int) -> list[list[int]]:
    """Cut items of similar length (tokens) into mini-batches of indices, the shortest first.

    At most mini_batch items, and items * longest at most max_tokens unless it is a single item.
    """
    cut: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if cut and len(cut[-1]) < mini_batch and (len(cut[-1]) + 1) * lengths[index] <= max_tokens:
            cut[-1].append(index)
        else:
            cut.append([index])
    return cut


class InOrder:
    """Brings results that arrive in any order into the order of their indices 0, 1, 2, ..."""

    def __init__(self) -> None:
        self._waiting: dict[int, str] = {}
        self._next = 0

    def put(self, index: int, text: str) -> str:
        """Add one result; return the texts, joined, that are complete up to the next gap."""
        if index < self._next or index in self._waiting:
            raise ValueError(f"result {index} was put twice")
        self._waiting[index] = text
        ready = []
        while self._next in self._waiting:
            ready.append(self._waiting.pop(self._next))
            self._next += 1
        return "".join(ready)
