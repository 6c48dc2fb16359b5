"""The order of the queue."""

from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.serve import fair_queue
from cgru_cli.serve.fair_queue import FairQueue

REQUESTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 4)), max_size=12
)


def filled(requests, limit=1000):
    queue = FairQueue(limit)
    for number, (kind, client, count) in enumerate(requests):
        assert queue.put(kind, client, number, [(client, number, i) for i in range(count)])
    return queue


@given(REQUESTS)
def test_every_item_is_taken_once_in_the_order_of_its_request(requests):
    queue = filled(requests)
    assert len(queue) == sum(count for _, _, count in requests)
    for kind in "ab":
        taken = [queue.take(kind) for _ in range(queue.waiting(kind)[0])]
        assert queue.take(kind) is None and queue.waiting(kind)[0] == 0
        for number, (its_kind, client, count) in enumerate(requests):
            if its_kind == kind:
                mine = [item for item in taken if item[1] == number]
                assert mine == [(client, number, i) for i in range(count)]
    assert len(queue) == 0 and queue.kinds == []


@given(REQUESTS, st.data())
def test_dropping_a_request_removes_only_its_items(requests, data):
    queue = filled(requests)
    gone = data.draw(st.sets(st.integers(0, max(0, len(requests) - 1))))
    for number, (kind, client, _) in enumerate(requests):
        if number in gone:
            queue.drop(kind, client, number)
            queue.drop(kind, client, number)
    left = {item[1] for kind in "ab" for item in iter(lambda k=kind: queue.take(k), None)}
    expected = {i for i, (_, _, count) in enumerate(requests) if count and i not in gone}
    assert left == expected and len(queue) == 0


def test_clients_take_turns_and_so_do_their_requests():
    queue = filled([("a", "x", 3), ("a", "x", 3), ("a", "y", 2)])
    taken = [queue.take("a")[:2] for _ in range(8)]
    assert taken[:4] == [("x", 0), ("y", 2), ("x", 1), ("y", 2)]
    assert taken[4:] == [("x", 0), ("x", 1), ("x", 0), ("x", 1)]


def test_a_request_without_room_is_not_added_at_all():
    queue = filled([("a", "x", 3)], limit=4)
    assert not queue.put("a", "y", 9, [1, 2]) and len(queue) == 3
    assert queue.put("a", "y", 9, [1]) and len(queue) == 4


def test_the_wait_of_the_others_begins_again_when_an_item_is_taken(monkeypatch):
    queue = filled([("a", "x", 2), ("a", "y", 1), ("b", "x", 1)])
    before = queue.waiting("b")
    monkeypatch.setattr(fair_queue.time, "monotonic", lambda: -1.0)
    queue.take("a")
    assert queue.waiting("a") == (2, -1.0) and queue.waiting("b") == before
