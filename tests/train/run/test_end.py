"""How much of a training is done, and how long the rest takes."""

import pytest

from cgru_cli.train.run.end import End, _duration
from cgru_cli.train.run.progress import Frequency, Progress

NOW = Progress(epochs=1, updates=30, sentences=50, words=600, seconds=120.0)


@pytest.mark.parametrize(
    ("limits", "share", "left"),
    [
        ("120u", 0.25, 360.0),
        ("3e", 0.5, 120.0),  # an epoch and a half, of 100 pairs
        ("4m", 0.5, 120.0),
        ("2400t", 0.25, 360.0),
        ("120u,4m,0", 0.5, 120.0),  # what comes first
        ("10u", 1.0, 0.0),
        ("0", None, None),
    ],
)
def test_the_limit_that_comes_first_decides(limits, share, left):
    end = End(Frequency.parse_all(limits), 100)
    assert (end.share(NOW), end.seconds_left(NOW)) == (share, left)


def test_what_is_shown():
    end = End(Frequency.parse_all("120u"), 100)
    assert end.shown(NOW) == "25.0% : ETA 6m00s"
    assert end.shown(Progress()) == "0.0%"
    assert End((), 100).shown(NOW) == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0s"), (59.6, "1m00s"), (3599, "59m59s"), (3720, "1h02m"), (183600, "2d03h")],
)
def test_durations(seconds, shown):
    assert _duration(seconds) == shown


def test_limits_in_minutes():
    end = End(Frequency.parse_all("5m,1u"), 100)
    assert not end.minutes_over(299.9) and end.minutes_over(300)
    assert not End(Frequency.parse_all("1u"), 100).minutes_over(1e9)
