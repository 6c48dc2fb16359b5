"""Iterators in threads: all items, errors, and an early end."""

import itertools
import threading
import time
from collections import Counter

import pytest

from cgru_cli.system.side_by_side import Ahead, side_by_side, together_in


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_all_items_come_in_the_order_of_each_iterator(threads):
    found = list(side_by_side((iter([(i, k) for k in range(4)]) for i in range(7)), threads))
    assert sorted(found) == [(i, k) for i in range(7) for k in range(4)]
    assert all([k for j, k in found if j == i] == [0, 1, 2, 3] for i in range(7))


def test_iterators_run_at_the_same_time():
    both = threading.Barrier(2)

    def meeting(number):
        both.wait(60)  # neither passes alone
        yield number

    assert sorted(side_by_side(map(meeting, range(2)), 2)) == [0, 1]


def test_one_thread_is_the_callers():
    def here():
        yield threading.current_thread()

    assert set(side_by_side([here(), here()], 1)) == {threading.current_thread()}


def test_an_error_is_raised_and_ends_the_others():
    started, failed, ended = [], threading.Event(), threading.Event()

    def numbers(number):
        started.append(number)
        if number == 1:
            failed.set()
            raise ValueError("of number 1")
        (ended if number else failed).wait(60)
        yield number

    with pytest.raises(ValueError, match="of number 1"):
        list(side_by_side(map(numbers, range(1000)), 2))
    ended.set()
    assert len(started) <= 3


def test_a_caller_that_stops_ends_the_iterators():
    started, ended = [], threading.Event()

    def numbers(number):
        started.append(number)
        yield number
        ended.wait(60)

    some = side_by_side(map(numbers, range(1000)), 2)
    next(some)
    some.close()
    ended.set()
    assert len(started) <= 4


@pytest.mark.parametrize(
    ("max_tokens", "threads", "expected"), [(100, 8, 3), (100, 2, 2), (39, 8, 2), (10, 8, 1)]
)
def test_batches_at_a_time_fit_into_the_memory(max_tokens, threads, expected):
    # three batches; the largest has two items, padded to 9 tokens
    assert together_in(max_tokens, [3, 9, 8, 2, 5], [[3, 0], [4], [2, 1]], threads) == expected


def test_no_batches_need_no_threads():
    assert together_in(10, [], [], 4) == 1


def test_items_made_ahead_come_in_order():
    with Ahead(iter(range(100)), depth=3) as items:
        assert list(items) == list(range(100))
        assert list(items) == []


def test_at_most_depth_items_are_made():
    made = Counter()

    def items():
        for i in range(50):
            made["items"] += 1
            yield i

    with Ahead(items(), depth=3) as ahead:
        assert next(ahead) == 0
        time.sleep(0.05)
        assert made["items"] <= 4


def test_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise OSError("gone")

    with Ahead(items()) as ahead:
        assert [next(ahead), next(ahead)] == [1, 2]
        with pytest.raises(OSError, match="gone"):
            next(ahead)


def test_closing_ends_the_thread_and_the_generator():
    ended = threading.Event()

    def items():
        try:
            yield from itertools.count()
        finally:
            ended.set()

    before = threading.active_count()
    ahead = Ahead(items())
    assert next(ahead) == 0
    ahead.close()
    ahead.close()
    assert ended.is_set()
    assert threading.active_count() == before
    assert list(ahead) == []


def test_waiting_is_counted():
    def slow():
        for i in range(3):
            time.sleep(0.02)
            yield i

    with Ahead(slow()) as ahead:
        assert list(ahead) == [0, 1, 2]
        assert ahead.waited > 0.04
    with Ahead(iter(range(3))) as ahead:
        time.sleep(0.1)
        assert list(ahead) == [0, 1, 2]
        assert ahead.waited < 0.02
