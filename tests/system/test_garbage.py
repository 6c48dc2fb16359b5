"""Garbage is collected when it is due, and by nobody else."""

import gc
import weakref

import pytest

from cgru_cli.system.garbage import collect_due, collected_by_hand


@pytest.fixture(autouse=True)
def pythons_own_thresholds():
    """Those of all tests are higher."""
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*thresholds)


class Node:
    """Garbage, once nobody but itself knows it."""

    def __init__(self):
        self.me = self


def many(count=5000):
    """What is known of so many of them, made and dropped."""
    return [weakref.ref(Node()) for _ in range(count)]


def test_what_is_due_is_collected_and_nothing_before():
    with collected_by_hand():
        assert not gc.isenabled()
        dropped = many()
        assert all(one() for one in dropped)
        collect_due()
        assert not any(one() for one in dropped)
    assert gc.isenabled()


def test_old_garbage_is_collected_too():
    with collected_by_hand():
        old = Node()
        gc.collect()  # which makes it old
        watched = weakref.ref(old)
        del old
        for _ in range(1000):
            kept = many(800)
            collect_due()
            if watched() is None:
                return
        pytest.fail(f"{len(kept)} and more were collected, and the old one never")


def test_where_python_collects_by_itself_it_is_left_to_it():
    before = sum(generation["collections"] for generation in gc.get_stats())
    collect_due()
    assert sum(generation["collections"] for generation in gc.get_stats()) - before <= 1
