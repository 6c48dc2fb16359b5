"""Garbage is collected by hand when a collection is due."""

import gc
import weakref

import pytest

from cgru_cli.system.garbage import collect_due, collected_by_hand, keep_all


@pytest.fixture(autouse=True)
def pythons_own_thresholds():
    """The tests' own thresholds are higher."""
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*thresholds)


class Node:
    """An object that only refers to itself."""

    def __init__(self):
        self.me = self


def many(count=5000):
    """Weak references to nodes that are garbage."""
    return [weakref.ref(Node()) for _ in range(count)]


def test_garbage_is_collected_when_due():
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
        gc.collect()  # moves it to the old generation
        watched = weakref.ref(old)
        del old
        for _ in range(1000):
            kept = many(800)
            collect_due()
            if watched() is None:
                return
        pytest.fail(f"{len(kept)} were collected, but never the old one")


def test_nothing_is_collected_if_python_collects_by_itself():
    before = sum(generation["collections"] for generation in gc.get_stats())
    collect_due()
    assert sum(generation["collections"] for generation in gc.get_stats()) - before <= 1


def is_searched(searched):
    return any(one is searched for one in gc.get_objects())


def test_kept_objects_are_searched_no_more():
    kept = Node()
    keep_all()
    assert is_searched(kept)  # Python collects by itself
    with collected_by_hand():
        (dropped,) = many(1)
        keep_all()
        assert not dropped() and not is_searched(kept)
    gc.unfreeze()
