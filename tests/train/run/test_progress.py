"""What is due when, by hand; and that resuming changes none of it."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.system.typed_json import dataclass_from_json
from cgru_cli.train.run.progress import Frequency, Progress


def from_json(data):
    return dataclass_from_json(Progress, data, "run/state.json")


@pytest.mark.parametrize(
    "text, every, unit",
    [
        ("500", 500, "u"), ("1000u", 1000, "u"), ("300Ku", 300_000, "u"), ("2k", 2000, "u"),
        ("1e", 1, "e"), ("30m", 30, "m"), ("0.5m", 0.5, "m"), ("10Mt", 10**7, "t"),
        ("1.5Mt", 1_500_000, "t"), ("20Gt", 2 * 10**10, "t"), ("0", 0, "u"), ("0e", 0, "e"),
        (" 7 ", 7, "u"), ("1Mm", 10**6, "m"),
    ],
)  # fmt: skip
def test_forms(text, every, unit):
    frequency = Frequency.parse(text)
    assert (frequency.every, frequency.unit) == (every, unit)
    assert Frequency.parse(str(frequency)) == frequency


@pytest.mark.parametrize(
    "text", ["", "u", "-5", "5x", "5 u", "1e3", "1.5u", "0.5e", "5uu", "1,000", "nan", "5h", "٣"]
)
def test_nonsense_is_answered_with_the_forms(text):
    with pytest.raises(UsageError, match=r"10Mt \(target words"):
        Frequency.parse(text)


def test_several_limits():
    limits = Frequency.parse_all("10e,300ku")
    assert limits == (Frequency(10, "e"), Frequency(300_000, "u"))
    with pytest.raises(UsageError):
        Frequency.parse_all("10e,")


@pytest.mark.parametrize(
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
    """Each update is checked against the one before it, also when that was read from a file."""
    frequency = Frequency(every, "t")
    progress, due = Progress(), []
    for i, words in enumerate(steps):
        if i in stops:
            progress = from_json(json.loads(json.dumps(dataclasses.asdict(progress))))
        now = progress.update(batches=1, sentences=1, words=words, seconds=0.25)
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
    one = start.update(batches=2, sentences=160, words=2000, seconds=1.5)
    two = one.update(batches=2, sentences=100, words=1500, seconds=1.0)
    assert two == Progress(0, 2, 4, 260, 3500, 2.5)
    assert two.next_epoch() == Progress(1, 2, 0, 0, 3500, 2.5)
    assert two.next_epoch().epoch == 2
    assert from_json(dataclasses.asdict(two)) == two


@pytest.mark.parametrize(
    "change",
    [
        {"updates": -1}, {"updates": 1.5}, {"updates": True}, {"updates": "3"}, {"words": None},
        {"seconds": float("nan")}, {"seconds": float("inf")}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_no_progress(change):
    with pytest.raises(CgruError, match=r"run/state\.json"):
        from_json(dataclasses.asdict(Progress()) | change)


@pytest.mark.parametrize("data", [None, [], 3, {}, {"updates": 3}])
def test_what_is_not_even_a_mapping(data):
    with pytest.raises(CgruError, match=r"run/state\.json: damaged: "):
        from_json(data)
