"""Tests of many similar rows as one item each."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Failed = pytest.fail.Exception


def each_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Callable[[Any], str] | Sequence[str] | None = None,
) -> Callable[[Callable], Callable]:
    """Call a test once for each row of a table, all in one item; every failing row is reported.

    The arguments are those of `pytest.mark.parametrize`. All rows share the fixtures, so it is for
    tests that leave them unchanged; only `tmp_path` is a new folder for each row.
    """
    split = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    table = [row if len(split) > 1 else (row,) for row in rows]
    assert table, "a table without rows tests nothing"

    def decorate(test: Callable) -> Callable:
        signature = inspect.signature(test)
        fixtures = [p for name, p in signature.parameters.items() if name not in split]

        @functools.wraps(test)
        def every_row(**shared: Any) -> None:
            failed: list[BaseException] = []
            for number, row in enumerate(table):
                given = dict(shared)
                if "tmp_path" in shared:
                    given["tmp_path"] = shared["tmp_path"] / str(number)
                    given["tmp_path"].mkdir()
                try:
                    test(**given, **dict(zip(split, row, strict=True)))
                except (Exception, Failed) as error:
                    error.add_note(f"row {number} of {test.__name__}: {_named(row, number, ids)}")
                    failed.append(error)
            if failed:
                raise (
                    failed[0]
                    if len(failed) == 1
                    else BaseExceptionGroup(f"{len(failed)} of {len(table)} rows failed", failed)
                )

        every_row.__signature__ = signature.replace(parameters=fixtures)
        return every_row

    return decorate


def _named(row: Sequence[Any], number: int, ids: Callable | Sequence[str] | None) -> str:
    if ids is None:
        return ", ".join(map(repr, row))
    return ", ".join(str(ids(value)) for value in row) if callable(ids) else ids[number]
