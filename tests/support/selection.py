"""Which of many cases `make test` runs."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

EXHAUSTIVE, LONG = pytest.mark.exhaustive, pytest.mark.long


def choice(
    cases: Iterable[Any],
    *default: Any,
    long: Iterable[Any] = (),
    others: pytest.MarkDecorator = EXHAUSTIVE,
) -> list[Any]:
    """Parameters of a test: the named ones run by default, the others in another tier.

    A tuple holds the values of several parameters. long: further cases for the long tests.
    """
    cases, long = list(cases), list(long)
    missing = [case for case in (*default, *long) if case not in cases]
    assert not missing, missing
    marks = [() if case in default else LONG if case in long else others for case in cases]
    return [
        pytest.param(*(case if isinstance(case, tuple) else [case]), marks=mark)
        for case, mark in zip(cases, marks, strict=True)
    ]


def in_turns(
    *columns: Iterable[Any], others: pytest.MarkDecorator = EXHAUSTIVE, every: int = 1
) -> list[Any]:
    """Parameters of a test: all combinations, of which some run by default.

    The first column is the longest; each of its values runs with one value of every other column,
    which take turns. every: of these, each second (2) by default and the others in the long tests.
    """
    lists = [list(column) for column in columns]
    default = [
        tuple(values[place % len(values)] for values in lists) for place in range(len(lists[0]))
    ]
    combinations = itertools.product(*lists)
    return choice(combinations, *default[::every], long=default, others=others)
