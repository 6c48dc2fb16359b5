"""Windows of lines, batches of similar length, and the order of results."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.system.lines import LineReader
from cgru_cli.system.windows import batches, in_order, in_windows, windows


def test_windows_grow_from_one_line(tmp_path):
    (tmp_path / "x").write_bytes(b"a\n" * 120)
    sizes = [len(window) for window in windows(LineReader(tmp_path / "x"), 8, 10)]
    assert sizes == [1, 16, 80, 23]
    (tmp_path / "y").write_bytes(b"a\n" * 3)
    assert [len(window) for window in windows(LineReader(tmp_path / "y"), 1, 1)] == [1, 1, 1]


@settings(deadline=None, max_examples=150)
@given(
    lengths=st.lists(st.integers(0, 30), max_size=60),
    mini_batch=st.integers(1, 10),
    max_tokens=st.integers(1, 100),
)
def test_batches_are_a_bounded_partition(lengths, mini_batch, max_tokens):
    cut = batches(lengths, mini_batch, max_tokens)
    assert sorted(index for batch in cut for index in batch) == list(range(len(lengths)))
    assert [lengths[i] for batch in cut for i in batch] == sorted(lengths)
    for batch in cut:
        longest = max(lengths[index] for index in batch)
        assert len(batch) <= mini_batch
        assert len(batch) == 1 or len(batch) * longest <= max_tokens
        assert batch == sorted(batch, key=lambda index: (lengths[index], index))


@given(st.permutations(range(12)), st.lists(st.integers(1, 5), min_size=1))
def test_results_come_in_order_and_as_soon_as_possible(order, sizes):
    windows = list(in_windows(iter(range(12)), itertools.chain(sizes, itertools.repeat(12))))
    seen = set()

    def compute(window, first):
        assert window == list(range(first - 7, first - 7 + len(window)))
        for item in sorted(window, key=order.index):
            seen.add(item)
            yield item + 7, str(item)

    for place, result in enumerate(in_order(windows, compute, 7)):
        assert result == str(place) and seen.issuperset(range(place + 1))
        missing = next(item for item in range(13) if item not in seen)
        assert missing > place and max(seen) < sum(map(len, windows[: _window(windows, place) + 1]))
    assert place == 11


def _window(windows, item):
    return next(i for i, window in enumerate(windows) if item in window)
