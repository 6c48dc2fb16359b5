"""Series of learning rates, calculated by hand or printed by Marian."""

import math

import pytest

from cgru_cli.errors import UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.run.learning_rate import Schedule
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Frequency, Progress


def rates(schedule, unit, points):
    return [schedule.at(Progress(**{unit: n})) for n in points]


def scheduled(rate, **options):
    return Schedule(TrainOptions(learn_rate=rate, **options))


def test_constant():
    assert rates(scheduled(0.25), "updates", [0, 1, 10**6]) == [0.25] * 3


def test_the_rate_of_an_update_may_depend_on_its_words():
    assert scheduled(0.25).of_update(0.25, 30) == (0.25, 1)
    assert scheduled(0.25, lr_words_ref=20).of_update(0.25, 30) == (0.375, 1)
    assert scheduled(0.25, lr_words_ref=60).of_update(0.25, 30) == (0.125, 1)
    assert scheduled(0.25, mini_batch_words_ref=20).of_update(0.25, 30) == (0.375, 1.5)
    assert scheduled(0.25, mini_batch_words_ref=60).of_update(0.25, 30) == (0.25, 1)
    sgd = scheduled(0.25, optimizer="sgd", mini_batch_words_ref=20)
    assert sgd.of_update(0.25, 30) == (0.25, 1.5)


def test_linear_warm_up():
    schedule = scheduled(0.4, lr_warmup="4u")
    assert rates(schedule, "updates", range(6)) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.4])


def test_warm_up_from_a_start_rate():
    schedule = scheduled(0.5, lr_warmup="4", lr_warmup_start_rate=0.1)
    assert rates(schedule, "updates", range(6)) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])


def test_warm_up_in_words_and_epochs():
    words = scheduled(1.0, lr_warmup="10kt")
    assert rates(words, "words", [0, 2500, 9999, 10**9]) == pytest.approx([0, 0.25, 0.9999, 1])
    epochs = scheduled(1.0, lr_warmup="4e")
    points = [Progress(epochs=number // 4, share=number % 4 / 4) for number in range(18)]
    grown = [min(number, 16) / 16 for number in range(18)]
    assert [epochs.at(point) for point in points] == pytest.approx(grown)
    marian = scheduled(1.0, lr_warmup="4e", compat="marian")
    assert rates(marian, "epochs", range(5)) == pytest.approx([0.25, 0.5, 0.75, 1, 1])
    assert marian.at(Progress(epochs=1, share=0.5)) == 0.5


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("off", [2, 2, 2, 2, 2]),
        ("linear", [2, 1.5, 1, 0.2, 0]),
        ("cosine", [2, 1 + 0.5**0.5, 1, 1 - math.cos(math.pi / 10), 0]),
        ("late", [2, 2, 2, 1, 0]),
    ],
)
def test_the_rate_falls_to_zero_at_the_nearest_end(shape, expected):
    options = TrainOptions(learn_rate=2.0, lr_decay_to_end=shape, after="400u")
    schedule = Schedule(options, [Frequency(400), Frequency(10, "e"), Frequency(90, "m")])
    assert rates(schedule, "updates", [0, 100, 200, 360, 400]) == pytest.approx(expected)
    points = [Progress(epochs=n // 4, share=n % 4 / 4) for n in (0, 10, 20, 36, 40)]
    assert [schedule.at(point) for point in points] == pytest.approx(expected)
    assert rates(schedule, "seconds", [0, 1350, 2700, 4860, 5400]) == pytest.approx(expected)
    assert rates(Schedule(options, [Frequency(800)]), "updates", [0, 200]) == pytest.approx(
        expected[:2]
    )  # a later end stretches it


def test_the_fall_multiplies_the_warm_up():
    options = TrainOptions(learn_rate=1.0, lr_warmup="4u", lr_decay_to_end="linear", after="8u")
    found = rates(Schedule(options, [Frequency(8)]), "updates", range(0, 9, 2))
    assert found == pytest.approx([0, 0.5 * 6 / 8, 0.5, 2 / 8, 0])


def test_inverse_square_root():
    schedule = scheduled(1.0, lr_decay_inv_sqrt="100")
    assert rates(schedule, "updates", [0, 100, 400, 900]) == pytest.approx([1, 1, 1 / 2, 1 / 3])


def test_inverse_square_root_from_a_start():
    schedule = scheduled(1.0, lr_decay_inv_sqrt="100", lr_decay_inv_sqrt_start="500u")
    assert rates(schedule, "updates", [0, 500, 800, 1300]) == pytest.approx([1, 1, 1 / 2, 1 / 3])


def test_inverse_square_root_in_words():
    schedule = scheduled(2.0, lr_decay_inv_sqrt="1Mt")
    assert rates(schedule, "words", [10**6, 4 * 10**6]) == pytest.approx([2, 1])


def test_warm_up_then_inverse_square_root():
    schedule = scheduled(0.8, lr_warmup="4", lr_decay_inv_sqrt="4")
    expected = [0, 0.4, 0.8, 0.4, 0.2]
    assert rates(schedule, "updates", [0, 2, 4, 16, 64]) == pytest.approx(expected)


def test_step_decay_by_updates():
    schedule = scheduled(
        1.0, lr_decay=0.5, lr_decay_strategy="batches", lr_decay_start=(10,), lr_decay_freq=5
    )
    points = [0, 9, 10, 14, 15, 19, 20]
    expected = [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 8]
    assert rates(schedule, "updates", points) == pytest.approx(expected)


def test_exponential_decay_by_updates():
    schedule = scheduled(1.0, lr_decay=0.9, lr_decay_strategy="batches")
    assert rates(schedule, "updates", range(4)) == pytest.approx([1, 0.9, 0.81, 0.729])


def test_decay_by_epochs():
    schedule = scheduled(1.0, lr_decay=0.5, lr_decay_strategy="epoch", lr_decay_start=(3,))
    assert rates(schedule, "epochs", range(5)) == pytest.approx([1, 1, 1 / 2, 1 / 4, 1 / 8])
    wider = scheduled(
        1.0, lr_decay=0.5, lr_decay_strategy="epoch", lr_decay_start=(2,), lr_decay_freq=2
    )
    assert rates(wider, "epochs", range(6)) == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 8])


def test_the_first_epoch_never_decays():
    schedule = scheduled(1.0, lr_decay=0.5, lr_decay_strategy="epoch", lr_decay_start=(1,))
    assert rates(schedule, "epochs", range(3)) == pytest.approx([1, 1 / 2, 1 / 4])


def test_decay_by_stalls():
    schedule = scheduled(0.8, lr_decay=0.5)
    now = Progress(updates=5000, epochs=7)
    assert [schedule.at(now, n) for n in range(4)] == pytest.approx([0.8, 0.4, 0.2, 0.1])
    assert scheduled(0.8).at(now, 3) == 0.8


@pytest.mark.parametrize(
    ("by", "line"),
    [
        ("epoch", "Decaying learning rate to 5e-05 in epoch 2"),
        ("batches", "Decaying learning rate to 5e-05 after 2 batches"),
        ("stalled", "Decaying learning rate to 5e-05 after having stalled 1 time(s)"),
    ],
)
def test_decays_are_logged_in_marians_words(by, line):
    """Scripts look for these lines of Marian 1.12."""
    patience = Patience(["perplexity"], TrainOptions())
    patience.update("perplexity", 1.0, 1)
    patience.update("perplexity", 2.0, 2)
    now = {"epoch": Progress(epochs=1, updates=9)}.get(by, Progress(updates=2))
    schedule = scheduled(
        1e-4, lr_decay=0.5, lr_decay_strategy=by, lr_decay_start=(2 if by != "stalled" else 1,)
    )
    assert schedule.decay_line(now, patience) == line
    assert schedule.decays(now, patience.decays) == 1
    assert scheduled(1e-4).decays(now, patience.decays) == 0, "there is no decay"


@pytest.mark.parametrize(
    ("by", "start", "decays"),
    [
        ("epoch+stalled", (10, 1), [3, 4, 5, 6]),
        ("epoch+stalled", (3, 9), [3, 4, 5, 6]),
        ("epoch+batches", (10, 20), [3, 4, 5, 6]),
        ("epoch+batches", (4, 999), [4, 5, 6]),
    ],
)
def test_two_strategies_decay_at_epochs_as_in_marian(by, start, decays):
    """Marian 1.12 does so with 15 updates an epoch, if validation first stalls at update 20."""
    schedule = scheduled(1e-4, lr_decay=0.5, lr_decay_strategy=by, lr_decay_start=start)
    patience = Patience(["perplexity"], TrainOptions(lr_decay=0.5, lr_decay_strategy="epoch"))
    epochs = []
    for update in range(1, 76):
        if update % 10 == 0:
            patience.update("perplexity", 1.0, update)
        now = Progress(epochs=update // 15, updates=update)
        if update % 15 == 0 and schedule.decays_with_epoch(now, patience.most_stalled):
            patience.decays += 1
            epochs.append(now.epoch)
            assert schedule.decay_line(now, patience).endswith(f"in epoch {now.epoch}")
    assert epochs == decays
    assert schedule.at(now, patience.decays) == 1e-4 * 0.5 ** len(decays)


def test_rates_that_marian_printed():
    """Rates of Marian 1.12 with `--lr-report` and 38 updates an epoch."""
    schedule = scheduled(
        1e-4, lr_warmup="30", lr_decay=0.5, lr_decay_strategy="epoch", lr_decay_start=(2,)
    )
    printed = {
        (1, 10): "3.3333e-05",
        (1, 20): "6.6667e-05",
        (1, 30): "1.0000e-04",
        (2, 40): "5.0000e-05",
        (2, 70): "5.0000e-05",
        (3, 80): "2.5000e-05",
    }
    for (epoch, updates), rate in printed.items():
        assert f"{schedule.at(Progress(epochs=epoch - 1, updates=updates)):.4e}" == rate


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"lr_warmup": "30m"}, "changes with minutes are not reproducible"),
        ({"lr_decay_inv_sqrt": "30m"}, "changes with minutes are not reproducible"),
        ({"lr_decay_inv_sqrt": "3", "lr_decay_inv_sqrt_start": "3t"}, "same unit"),
        ({"lr_decay": 0.5, "lr_decay_start": (1, 2)}, "stalled needs one number"),
        ({"lr_decay": 0.5, "lr_decay_strategy": "epoch+stalled"}, "a number for each of the two"),
    ],
)
def test_options_that_contradict_each_other(wrong, message):
    with pytest.raises(UsageError, match=message):
        scheduled(0.1, **wrong)
