"""Read lines in windows, cut windows into batches of similar length, and restore the order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from .lines import LineReader

Item = TypeVar("Item")
Result = TypeVar("Result")


def windows(
    reader: LineReader, mini_batch: int, maxi_batch: int, *, growing: bool = True
) -> Iterator[list[str]]:
    """All lines in windows of up to mini_batch * maxi_batch lines.

    growing: the first window has one line, and each later window sixteen times as many as the
    previous, so that the first translation comes early and few batches are small.
    """
    rows = sizes(mini_batch * maxi_batch, growing=growing)
    while lines := reader.window(next(rows)):
        yield lines


def sizes(largest: int, *, growing: bool = True) -> Iterator[int]:
    """The sizes of windows: 1, 16, 256, ..., largest; without growing, always the largest."""
    size = 1 if growing else largest
    while True:
        yield size
        size = min(16 * size, largest)


def in_windows(items: Iterator[Item], window_sizes: Iterator[int]) -> Iterator[list[Item]]:
    """All items in windows of these sizes."""
    while window := list(islice(items, next(window_sizes))):
        yield window


def in_order(
    windows: Iterable[list[Item]],
    compute: Callable[[list[Item], int], Iterator[tuple[int, Result]]],
    first: int = 0,
) -> Iterator[Result]:
    """The results of the items of all windows, in their order, as they become ready.

    compute: returns numbers and results, given the items of a window and the first item's number.
    first: the number of the first item.
    """
    waiting: dict[int, Result] = {}
    ready = begin = first
    for window in windows:
        for number, result in compute(window, begin):
            waiting[number] = result
            while ready in waiting:
                yield waiting.pop(ready)
                ready += 1
        begin += len(window)


def batches(lengths: Sequence[int], mini_batch: int, max_tokens: int) -> list[list[int]]:
    """Cut items of similar length (tokens) into mini-batches of indices, shortest first.

    A batch has at most mini_batch items, with items * longest at most max_tokens unless it has only
    one item.
    """
    cut: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if cut and len(cut[-1]) < mini_batch and (len(cut[-1]) + 1) * lengths[index] <= max_tokens:
            cut[-1].append(index)
        else:
            cut.append([index])
    return cut
