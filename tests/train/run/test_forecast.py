"""What to expect of a training run, and the time left of it."""

import pytest

from cgru_cli.options.train import TrainOptions
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.run.forecast import LEAST, Pace, Text, forecast, shown_epoch, shown_left
from cgru_cli.train.run.progress import Frequency, Progress, duration

# four seconds and 20 words an update, 20 updates an epoch
NOW = Progress(epochs=1, updates=30, words=600, seconds=120.0, share=0.5)


def paced(updates=30, seconds=4.0, words=20, text=Text(100, 400)):  # noqa: B008
    pace = Pace(text)
    pace.add(words, 1000.0)  # the first update traces the model
    for _ in range(updates):
        pace.add(words, seconds)
    return pace


@pytest.mark.parametrize(
    ("limits", "share", "left"),
    [
        ("120u", 0.25, 360.0),
        ("3e", 0.5, 120.0),  # an epoch and a half
        ("4m", 0.5, 120.0),
        ("2400t", 0.25, 360.0),
        ("120u,4m,0", 0.5, 120.0),  # the nearest limit
        ("10u", 1.0, 0.0),
        ("0", None, None),
    ],
)
def test_the_limit_that_comes_first_decides(limits, share, left):
    limits = [limit for limit in Frequency.parse_all(limits) if limit.every]
    expected = "" if left is None else f"{share:.1%} : ETA {duration(left)}"
    assert shown_left(paced(), NOW, limits) == expected
    for unknown in (None, paced(LEAST - 1)):
        assert shown_left(unknown, NOW, limits) == expected.partition(" : ETA")[0]


def test_the_epoch():
    assert shown_epoch(paced(), NOW) == "50.0% of epoch 2, 40s left"
    assert shown_epoch(None, NOW) == "50.0% of epoch 2"


def test_the_pace_is_known_after_ten_seconds_of_three_updates():
    known = {(2, 6.0): False, (3, 3.0): False, (3, 4.0): True}
    assert {given: paced(*given).is_known for given in known} == known


DEFAULTS = {"learn_rate": 0.003, "mini_batch_words": 1000, "lr_warmup": "300u"}
TEXT = Text(60_000, 1_000_000)


@pytest.mark.parametrize(
    ("options", "validates", "text", "parts"),
    [
        (  # a thousand words and half a second an update
            {"valid_freq": "500u", "save_freq": "1e,3m", **DEFAULTS},
            True,
            TEXT,
            [
                "8m20s an epoch (1,000,000 target words, about 1,000 updates), "
                "first validation after 4m10s, first save after 3m00s",
                "translations begin to be usable after about 9m10s (1,100 updates, after which "
                "recipes/docs had 15 to 26 BLEU)",
            ],
        ),
        (
            {"valid_freq": "1e", "save_freq": "0", "after": "2e,500kt", **DEFAULTS},
            False,
            Text(3_000_000, 75_000_000),
            [
                "10h25m an epoch (75,000,000 target words, about 75,000 updates), "
                "first validation never, first save never",
                "end after 4m10s at the latest",
                "when translations are usable is not known for these options and this size",
            ],
        ),
        ({"type": "lm", "valid_freq": "1e", "save_freq": "1e"}, True, TEXT, None),
    ],
)
def test_what_to_expect(options, validates, text, parts):
    plan = TrainingPlan(TrainOptions(model="m.npz", **options), validates)
    line = forecast(paced(seconds=0.5, words=1000, text=text), plan)
    if parts is None:
        assert "translations" not in line
    else:
        assert line == f"Expected: {'; '.join(parts)}"
