"""Which of many cases `make test` runs."""

from collections.abc import Iterable
from typing import Any

import pytest


def choice(cases: Iterable[Any], *default: Any) -> list[Any]:
    """Parameters of a test: the named ones run by default, the others only with `exhaustive`.

    A tuple holds the values of several parameters.
    """
    cases = list(cases)
    missing = [case for case in default if case not in cases]
    assert not missing, missing
    rest = pytest.mark.exhaustive
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else [case]), marks=() if case in default else rest
        )
        for case in cases
    ]
