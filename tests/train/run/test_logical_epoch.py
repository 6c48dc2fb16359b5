"""Epochs of another length than the text."""

import pytest

from cgru_cli.errors import UsageError
from cgru_cli.train.run.logical_epoch import LogicalEpoch
from cgru_cli.train.run.progress import Frequency, Progress

NOW = Progress(epochs=2, updates=25, words=1500)


@pytest.mark.parametrize(
    ("values", "number", "limit"),
    [
        ((), "3", "4e"),
        (("1e", "0"), "3", "4e"),
        (("2e",), "1.500", "8e"),
        (("10u", "2"), "2.50", "40u"),
        (("1kt", "1"), "1.5", "4000t"),
    ],
)
def test_lengths(values, number, limit):
    epoch = LogicalEpoch.parse(values)
    assert epoch.number(NOW) == number
    assert epoch.limit(Frequency(4, "e")) == Frequency.parse(limit)
    assert epoch.limit(Frequency(4, "m")) == Frequency(4, "m")


@pytest.mark.parametrize("values", [("0e",), ("5m",), ("x",), ("1e", "1.5"), ("1e", "1", "2")])
def test_what_is_no_length(values):
    with pytest.raises(UsageError):
        LogicalEpoch.parse(values)
