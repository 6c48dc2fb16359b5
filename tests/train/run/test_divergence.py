"""Averages of the cost, compared with sums of weighted costs."""

import numpy as np
import pytest

from cgru_cli.train.run.divergence import CostAverages
from cgru_cli.train.run.progress import Progress
from cgru_cli.train.run.state import Course

COSTS = [5.0, 4.0, 4.5, 3.0, 3.5, 3.0, 2.5, 2.75, 2.5, 2.0, 9.0, 8.0, 7.0]


def mean_and_variance(costs, window):
    """Averages of weighted costs, whose weights shrink by the same factor per step back.

    The factor of a cost is that of its update, and the first cost is the first average.
    """
    shares = [1.0, *(2 / (min(window, n) + 1) for n in range(2, len(costs) + 1))]
    rest = np.append(np.cumprod(1 - np.array(shares[:0:-1]))[::-1], 1.0)
    weights = np.array(shares) * rest
    mean = weights @ costs
    return mean, weights @ (np.array(costs) - mean) ** 2


@pytest.mark.parametrize("count", [1, 2, 5, len(COSTS)])
def test_the_averages_are_those_of_weighted_costs(count):
    averages = CostAverages()
    for number, cost in enumerate(COSTS[:count], 1):
        averages = averages.add(cost, number, (6, 2))
    mean, variance = mean_and_variance(COSTS[:count], 6)
    assert (averages.slow, averages.variance) == pytest.approx((mean, variance))
    assert averages.fast == pytest.approx(mean_and_variance(COSTS[:count], 2)[0])


@pytest.mark.parametrize("limits", [(6, 2, 0.5), (6, 2, 3), (11, 2, 0.5), (6,), ()])
def test_a_training_diverges_after_the_averages_have_risen(limits):
    course, ended = Course(), []
    for number, cost in enumerate(COSTS, 1):
        course.progress = Progress(updates=number)
        if course.diverges(cost, limits):
            ended.append(number)
    assert (course.averages == CostAverages()) is (not limits)
    expected = []
    for number in range(limits[0] + 1, len(COSTS) + 1) if len(limits) == 3 else ():
        mean, variance = mean_and_variance(COSTS[: number - 1], limits[0])
        rise = mean_and_variance(COSTS[: number - 1], limits[1])[0] - mean
        expected += [number] * bool(rise > limits[2] * variance**0.5)
    assert ended == expected
    assert (12 in ended) is (limits[1:] == (2, 0.5))


def test_averages_that_begin_in_a_resumed_run():
    """Two costs above the first are no rise; the averages of 20 costs are those of a new run."""
    course, new = Course(), CostAverages()
    costs = [2.0, 3.0, 3.0, 3.0, *np.random.default_rng(1).uniform(2, 3, 26).tolist()]
    for number, cost in enumerate(costs, 1):
        course.progress = Progress(updates=5000 + number)
        assert course.diverges(cost, (20, 10, 5)) is None
        new = new.add(cost, number, (20, 10, 5))
    assert course.averages == CostAverages(new.slow, new.fast, new.variance, before=5000)
    course.averages = course.averages.add(99.0, 5031, (20, 10))
    assert course.averages.divergence(5032, (20, 10, 0.2))


def test_what_is_said_of_a_rising_cost():
    averages = CostAverages(slow=2.0, fast=3.5, variance=0.25)
    assert averages.divergence(11, (10, 2, 2.5)) == (
        "the cost rises: its mean of the last 2 updates, 3.5000, exceeds that of the last 10, "
        "2.0000, by 3.0 standard deviations"
    )
    assert averages.divergence(10, (10, 2, 2.5)) is None
    assert averages.divergence(11, (10, 2, 3.5)) is None
    assert CostAverages(slow=2.0, fast=3.5).divergence(11, (10, 2, 2.5)) is None
