"""Numbers as other programs read them, too."""

import pytest
from tables import each_row

from cgru_cli.system.plain_numbers import plain_number


def test_numbers():
    for text in ("1", "-0", "+7", "007", b"12"):
        assert plain_number(int, text) == int(text)
    for text in ("1", "-.5", "1e-3", "1.", b"0.25"):
        assert plain_number(float, text) == float(text)


@each_row("kind", [int, float])
@each_row("text", ["", " 1", "1 ", "1_000", "\u0661", "\uff11", "1\n", "1\xa0", b"1_0"])
def test_others(kind, text):
    with pytest.raises(ValueError):
        plain_number(kind, text)
