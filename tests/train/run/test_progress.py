"""Progress, due actions and remaining work; resuming changes none of them."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.system.typed_json import dataclass_from_json
from cgru_cli.train.run.progress import (
    End,
    Frequency,
    Interval,
    LogicalEpoch,
    Progress,
    duration,
)


def from_json(data):
    return dataclass_from_json(Progress, data, "run/state.json")


@each_row(
    "text, every, unit",
    [
        ("500", 500, "u"),
        ("1000u", 1000, "u"),
        ("300Ku", 300_000, "u"),
        ("2k", 2000, "u"),
        ("1e", 1, "e"),
        ("30m", 30, "m"),
        ("0.5m", 0.5, "m"),
        ("10Mt", 10**7, "t"),
        ("1.5Mt", 1_500_000, "t"),
        ("20Gt", 2 * 10**10, "t"),
        ("0", 0, "u"),
        ("0e", 0, "e"),
        (" 7 ", 7, "u"),
        ("1Mm", 10**6, "m"),
    ],
)
def test_forms_of_frequencies(text, every, unit):
    frequency = Frequency.parse(text)
    assert (frequency.every, frequency.unit) == (every, unit)
    assert Frequency.parse(str(frequency)) == frequency


@each_row(
    "text", ["", "u", "-5", "5x", "5 u", "1e3", "1.5u", "0.5e", "5uu", "1,000", "nan", "5h", "٣"]
)
def test_errors_list_the_valid_forms(text):
    with pytest.raises(ValueError, match=r"10Mt \(target words"):
        Frequency.parse(text)


def test_several_limits():
    limits = Frequency.parse_all("10e,300ku")
    assert limits == (Frequency(10, "e"), Frequency(300_000, "u"))
    with pytest.raises(ValueError, match="not understood"):
        Frequency.parse_all("10e,")


@each_row(
    "text, before, now, due",
    [
        ("100u", {"updates": 99}, {"updates": 100}, True),
        ("100u", {"updates": 100}, {"updates": 101}, False),
        ("100u", {"updates": 98}, {"updates": 99}, False),
        ("100u", {"updates": 0}, {"updates": 0}, False),
        ("1e", {"epochs": 0, "updates": 80}, {"epochs": 1, "updates": 80}, True),
        ("2e", {"epochs": 0}, {"epochs": 1}, False),
        ("2e", {"epochs": 1}, {"epochs": 2}, True),
        ("1000t", {"words": 990}, {"words": 1040}, True),
        ("1000t", {"words": 1040}, {"words": 1999}, False),
        ("1000t", {"words": 1040}, {"words": 5000}, True),
        ("30m", {"seconds": 1799.9}, {"seconds": 1800.0}, True),
        ("30m", {"seconds": 1800.0}, {"seconds": 3599.0}, False),
        ("0.5m", {"seconds": 29.0}, {"seconds": 31.0}, True),
        ("0", {"updates": 0}, {"updates": 5}, False),
        ("0e", {"epochs": 0}, {"epochs": 5}, False),
    ],
)
def test_due(text, before, now, due):
    assert Frequency.parse(text).due(Progress(**before), Progress(**now)) is due


@given(
    st.lists(st.integers(1, 50), max_size=60),
    st.integers(1, 120),
    st.sets(st.integers(0, 60)),
)
def test_resuming_changes_nothing(steps, every, stops):
    """Each update is compared with the previous one, which may come from a file."""
    frequency = Frequency(every, "t")
    progress, due = Progress(), []
    for i, words in enumerate(steps):
        if i in stops:
            progress = from_json(json.loads(json.dumps(dataclasses.asdict(progress))))
        now = progress.update(batches=1, sentences=1, words=words, seconds=0.25, share=0.1)
        due.append(frequency.due(progress, now))
        progress = now
    total, expected = 0, []
    for words in steps:
        expected.append(any(n % every == 0 for n in range(total + 1, total + words + 1)))
        total += words
    assert due == expected


@pytest.mark.parametrize(
    "text, now, reached",
    [
        ("12u", {"updates": 11}, False),
        ("12u", {"updates": 12}, True),
        ("2e", {"epochs": 1, "updates": 10**6}, False),
        ("2e", {"epochs": 2}, True),
        ("1kt", {"words": 1003}, True),
        ("1m", {"seconds": 59.0}, False),
        ("0e", {"epochs": 5}, False),
    ],
)
def test_reached(text, now, reached):
    assert Frequency.parse(text).reached(Progress(**now)) is reached


def test_progress_by_hand():
    start = Progress()
    assert start.epoch == 1
    one = start.update(batches=2, sentences=160, words=2000, seconds=1.5, share=0.25)
    two = one.update(batches=2, sentences=100, words=1500, seconds=1.0, share=0.125)
    assert two == Progress(0, 2, 4, 260, 3500, 2.5, 0.375)
    assert two.next_epoch() == Progress(1, 2, 0, 0, 3500, 2.5)
    assert two.next_epoch().epoch == 2
    assert from_json(dataclasses.asdict(two)) == two


@each_row(
    "change",
    [
        {"updates": -1},
        {"updates": 1.5},
        {"updates": True},
        {"updates": "3"},
        {"words": None},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"more": 1},
    ],
)
def test_damaged_progress(change):
    with pytest.raises(CgruError, match=r"run/state\.json"):
        from_json(dataclasses.asdict(Progress()) | change)


@pytest.mark.parametrize("data", [None, [], 3, {}, {"updates": 3}])
def test_progress_that_is_not_a_mapping(data):
    with pytest.raises(CgruError, match=r"run/state\.json: damaged: "):
        from_json(data)


# -- logical epochs --------------------------------------------------------------------------------

LATER = Progress(epochs=2, updates=25, words=1500)


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
    assert epoch.number(LATER) == number
    assert epoch.limit(Frequency(4, "e"), exceeded=False) == Frequency.parse(limit)
    assert epoch.limit(Frequency(4, "m"), exceeded=True) == Frequency(4, "m")


def test_marian_exceeds_the_last_logical_epoch():
    """A limit of 5 epochs of 10 updates ends pymarian's training after update 51."""
    limit = LogicalEpoch.parse(("10u",)).limit(Frequency(5, "e"), exceeded=True)
    assert limit == Frequency(51, "u")


@pytest.mark.parametrize("values", [("0e",), ("5m",), ("x",), ("1e", "1.5"), ("1e", "1", "2")])
def test_lengths_that_are_refused(values):
    with pytest.raises(UsageError, match=r"^--logical-epoch "):
        TrainOptions(logical_epoch=values)


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0s"), (59.6, "1m00s"), (3599, "59m59s"), (3720, "1h02m"), (183600, "2d03h")],
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


def test_limits_in_minutes():
    end = End(Frequency.parse_all("5m,1u"))
    assert not end.minutes_over(299.9) and end.minutes_over(300)
    assert not End(Frequency.parse_all("1u")).minutes_over(1e9)


# -- intervals -------------------------------------------------------------------------------------


def test_an_interval_by_hand():
    interval = Interval()
    assert math.isnan(interval.mean_cost("cross-entropy"))
    assert interval.words_per_second == 0
    more = {"words": 10, "sentences": 2, "seconds": 0.5}
    interval = interval.add(40.0, 3.0, 1, **more)
    assert interval.norm == 3.0  # weight 2 / 2
    interval = interval.add(20.0, 6.0, 2, **more)
    assert interval.norm == pytest.approx(3 + 2 / 3 * 3)
    interval = interval.add(30.0, math.nan, 3, **more)
    assert interval.norm == pytest.approx(5)
    assert interval.mean_cost("cross-entropy") == 15
    assert interval.mean_cost("ce-mean-words") == 3
    assert interval.words_per_second == 20
    later = interval.add(0.0, 5 + 101, 10**6, **more)
    assert later.norm == pytest.approx(5 + 2)  # weight 2 / 101
    assert interval.shown() == Interval(norm=interval.norm)
