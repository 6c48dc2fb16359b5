"""Nests: named tuples, tuples and lists that hold arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def flatten(nest: Any) -> list[Any]:
    """The leaves, in order."""
    if isinstance(nest, list | tuple):
        return [leaf for part in nest for leaf in flatten(part)]
    return [nest]


def pack(like: Any, leaves: Iterable[Any]) -> Any:
    """A nest of the same form with other leaves, in the order of `flatten`."""
    return _packed(like, iter(leaves))


def _packed(like: Any, leaves: Iterator[Any]) -> Any:
    if not isinstance(like, list | tuple):
        return next(leaves)
    parts = [_packed(part, leaves) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def mapped(function: Callable[..., Any], nest: Any, *others: Any) -> Any:
    """The results of a function of each leaf, and of the leaves of nests of the same form."""
    rows = zip(*map(flatten, (nest, *others)), strict=True)
    return pack(nest, [function(*row) for row in rows])
