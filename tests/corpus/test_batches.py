"""Batches: every pair once per epoch, reproducible, within the budget, and padded."""

import itertools

import numpy as np
import pytest
from corpora import column, corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.corpus.batches import Batches, grid_length, make_batch
from cgru_cli.corpus.teacher_words import entries

pairs_of_lengths = st.lists(st.tuples(st.integers(2, 40), st.integers(2, 40)), max_size=80).map(
    lambda pairs: np.array(pairs, np.int32).reshape(-1, 2)
)


def within_area(sentences, source, target):
    return sentences * (source + target) <= 150


def within(words):
    return lambda sentences, source, target: sentences * max(source, target) <= words


sizes = st.tuples(
    st.integers(1, 9),
    st.none() | st.just(within_area) | st.builds(within, st.integers(1, 200)),
)
options = st.fixed_dictionaries(
    {
        "maxi_batch": st.integers(1, 6),
        "sort": st.sampled_from(["trg", "src", "none"]),
        "seed": st.integers(0, 2**32),
        "shuffle": st.booleans(),
    }
)


def epoch(lengths, size, number=0, start=0, **options):
    return [b.tolist() for b in Batches(lengths, *size, **options).epoch(number, start)]


def fits(size, lengths):
    """Written from the definition, without the code under test."""
    sentences, fits_together = size
    if fits_together is None:
        return len(lengths) <= sentences
    return len(lengths) == 1 or fits_together(len(lengths), *lengths.max(axis=0))


@given(pairs_of_lengths, st.integers(1, 90), st.booleans())
def test_batches_of_marian_end_above_a_number_of_source_words(lengths, words, reads_source):
    lengths[:, 0] = lengths[:, 0] if reads_source else 1
    batches = epoch(lengths, (9,), words=words, maxi_batch=99, sort="none", seed=1, shuffle=False)
    assert list(itertools.chain(*batches)) == list(range(len(lengths)))
    for number, batch in enumerate(batches, 1):
        *sums, last = np.cumsum(lengths[batch, 0 if reads_source else 1])
        assert all(done <= words for done in sums)
        assert last > words or number == len(batches)


@settings(max_examples=300)
@given(pairs_of_lengths, sizes, options, st.integers(0, 3), st.integers(0, 50))
def test_every_pair_comes_once_from_any_start(lengths, size, options, number, start):
    batches = epoch(lengths, size, number, **options)
    assert sorted(itertools.chain(*batches)) == list(range(len(lengths)))
    assert all(batches)
    assert all(fits(size, lengths[batch]) for batch in batches)
    assert epoch(lengths, size, number, start, **options) == batches[start:]


@given(pairs_of_lengths, sizes, st.integers(1, 6), st.sampled_from(["trg", "src"]))
def test_batches_are_sorted_and_as_full_as_possible(lengths, size, maxi_batch, sort):
    batches = epoch(lengths, size, maxi_batch=maxi_batch, sort=sort, seed=0, shuffle=False)
    window = maxi_batch * size[0]
    rows = [tuple(row) if sort == "src" else tuple(row[::-1]) for row in lengths.tolist()]
    expected = [
        pair
        for first in range(0, len(rows), window)
        for pair in sorted(range(len(rows))[first : first + window], key=rows.__getitem__)
    ]
    assert list(itertools.chain(*batches)) == expected
    for batch, following in itertools.pairwise(batches):
        if batch[0] // window == following[0] // window:
            assert not fits(size, lengths[[*batch, following[0]]])


def test_batches_alone_are_shuffled():
    options = {"maxi_batch": 5, "seed": 0, "shuffle": False}
    lengths = np.full((40, 2), 5)
    inner = epoch(lengths, (4,), 1, **options, shuffle_batches=True)
    ordered = epoch(lengths, (4,), 1, **options)
    for part in (slice(5), slice(5, None)):
        assert sorted(inner[part]) == ordered[part] != inner[part]


def test_epochs_and_seeds_differ():
    lengths = np.full((200, 2), 5)
    orders = {
        (seed, number): tuple(map(tuple, epoch(lengths, (7,), number, seed=seed,
                                               maxi_batch=3)))
        for seed in range(3) for number in range(3)
    }  # fmt: skip
    assert len(set(orders.values())) == 9


def test_order_never_changes():
    """Resuming relies on it, also after an update of NumPy."""
    lengths = np.array([[i % 5 + 2, i % 3 + 2] for i in range(12)])
    options = {"maxi_batch": 2, "sort": "trg", "seed": 1234}
    expected = [[0, 9, 7], [4, 2, 8], [1, 5, 11], [6, 3, 10]]
    assert epoch(lengths, (3,), 2, **options) == expected


def test_batches_of_a_maxi_batch_are_shuffled():
    lengths = np.repeat(np.arange(2, 102)[:, None], 2, axis=1)
    options = {"maxi_batch": 10**6, "sort": "trg", "seed": 1}
    firsts = [batch[0] for batch in epoch(lengths, (5,), **options)]
    assert sorted(firsts) == list(range(0, 100, 5)) != firsts


def test_too_long_pairs_are_alone_in_their_batch():
    lengths = np.array([[2, 9], [3, 3], [90, 2], [3, 3]])
    options = {"maxi_batch": 9, "sort": "none", "seed": 0, "shuffle": False}
    assert epoch(lengths, (80, within(6)), **options) == [[0], [1], [2], [3]]
    assert epoch(lengths, (80, within(9)), **options) == [[0], [1], [2], [3]]
    assert epoch(lengths, (80, within(18)), **options) == [[0, 1], [2], [3]]


def test_batches_of_no_sentences_are_impossible():
    with pytest.raises(ValueError):
        epoch(np.array([[2, 2]]), (0,), maxi_batch=1, seed=0)


def test_the_grid():
    by_hand = {1: 8, 8: 8, 9: 16, 63: 64, 65: 80, 81: 96, 127: 128, 129: 144, 255: 256, 257: 288}
    assert {n: grid_length(n) for n in by_hand} == by_hand
    for n in range(1, 5000):
        assert n <= grid_length(n) == grid_length(grid_length(n)) <= max(n + 7, 1.25 * n)
    assert len({grid_length(n) for n in range(1, 101)}) == 11
    assert len({grid_length(n) for n in range(1, 257)}) == 20


def test_a_batch_by_hand():
    data = corpus([[5], [6, 7, 8], [9]], [[1, 2], [3], [4]])
    batch = make_batch(data, np.array([1, 0]), grid=False)
    assert batch.source[..., 0].tolist() == [[6, 7, 8, 0], [5, 0, 0, 0]]
    assert batch.source_mask.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert batch.target.tolist() == [[3, 0, 0], [1, 2, 0]]
    assert batch.target_mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert (batch.sentences, batch.words) == (2, 5)
    assert batch.weights == batch.alignment == ()
    assert [array.dtype.name for array in batch[:4]] == ["int32", "float32"] * 2


def test_factors_and_padding_rows():
    data = corpus([[(5, 1), (6, 2)]], [[1]], factors=2)
    batch = make_batch(data, [0], rows=3)
    assert batch.source.shape == (3, 8, 2)
    assert batch.target.shape == (3, 8)
    assert batch.source[0, :3].tolist() == [[5, 1], [6, 2], [0, 0]]
    assert batch.source_mask.sum(axis=1).tolist() == [3, 1, 1]
    assert batch.source_mask[1, 0] == 1
    assert batch.target_mask.sum(axis=1).tolist() == [2, 0, 0]
    assert not batch.source[1:].any()
    assert (batch.sentences, batch.words) == (1, 2)
    assert make_batch(data, [0, 0, 0, 0], rows=3).source.shape == (4, 8, 2)


def test_weights_and_alignments_by_hand():
    """Padding has weight 1, because its mask is 0, and no alignment."""

    def data(weights):
        points = column([[], [(0, 0), (1, 0), (3, 1)]], (2,), "u2")
        weights = column(weights, dtype="f4")
        return corpus([[5], [6, 7, 8]], [[1, 2], [3]], alignment=points, weights=weights)

    of_words = data([[3, 1, 4], [1, 5]])
    batch = make_batch(of_words, [1, 0], grid=False, rows=3)
    assert batch.weights.tolist() == [[1, 5, 1], [3, 1, 4], [1, 1, 1]]
    expected = np.zeros((3, 3, 4))
    expected[0, 0, :2], expected[0, 1, 3] = 0.5, 1
    np.testing.assert_array_equal(batch.alignment, expected)
    assert batch.weights.dtype == batch.alignment.dtype == np.float32
    of_sentences = data([[3], [1]])
    whole = make_batch(of_sentences, [1, 0], grid=False)
    assert whole.weights.tolist() == [[1, 1, 1], [3, 3, 3]]
    labels = make_batch(of_sentences, [1, 0], grid=False, ends=False)  # without EOS
    assert labels.words == whole.words - 2
    assert labels.target_mask.sum(axis=1).tolist() == (whole.target_mask.sum(axis=1) - 1).tolist()
    assert make_batch(of_words, [0]).alignment.shape == (1, 8, 8)


def test_alignments_sum_to_1_over_the_source():
    points = [[(0, 0), (2, 0), (1, 3)], [], [(0, 1), (1, 1), (2, 1), (0, 0)]]
    data = corpus([[5, 6]] * 3, [[1] * 4] * 3, alignment=column(points, (2,)))
    shares = make_batch(data, [2, 0, 1], grid=False, rows=4).alignment
    expected = np.zeros((4, 5, 3))
    expected[0, 1] = 1 / 3
    expected[0, 0, 0] = 1
    expected[1, 0, [0, 2]] = 1 / 2
    expected[1, 3, 1] = 1
    np.testing.assert_array_equal(shares, expected.astype(np.float32))


def test_the_words_of_a_teacher_by_hand():
    """Padding has word 0 with share 0."""
    rows = entries(np.array([[9, 70000], [1, 2], [3, 4], [5, 6]]), np.log([[0.5, 0.25]] * 4))
    places = column([[0], [2]])
    data = corpus([[5], [6]], [[8], []], places=places).with_teacher(rows, "")
    batch = make_batch(data, [1, 0], grid=False, rows=3)
    assert batch.teacher_words.tolist() == [
        [[3, 4], [0, 0]], [[9, 70000], [1, 2]], [[0, 0], [0, 0]],
    ]  # fmt: skip
    shares = batch.teacher_shares.sum(axis=-1)
    np.testing.assert_allclose(shares, [[1, 0], [1, 1], [0, 0]], rtol=1e-6)
    assert (batch.teacher_words.dtype, batch.teacher_shares.dtype) == (np.int32, np.float32)


def test_the_first_sentences_of_a_batch_by_hand():
    points = column([[(0, 0)], [(1, 1)]], (2,))
    data = corpus([[3], [4, 5]], [[6], [7, 8]], alignment=points)
    batch = make_batch(data, [0, 1], grid=False).first(1)
    assert (batch.sentences, batch.words) == (1, 2)
    assert batch.source_mask.tolist() == [[1, 1, 0], [1, 0, 0]]  # as that of a padding row
    assert batch.target_mask.tolist() == [[1, 1, 0], [0, 0, 0]]
    assert batch.alignment[0].any() and not batch.alignment[1].any()


def test_the_target_alone():
    data = corpus([[]], [[4, 5]], factors=0)
    batch = make_batch(data, [0], grid=False)
    assert batch.source.shape == (1, 1, 0)
    assert batch.source_mask.tolist() == [[1]]


@given(st.lists(st.tuples(*[st.lists(st.integers(1, 9), min_size=1, max_size=20)] * 2), min_size=1))
def test_nothing_is_lost_in_a_batch(pairs):
    data = corpus(*([list(side) for side in zip(*pairs, strict=True)]))
    batch = make_batch(data, range(len(pairs)), rows=len(pairs) + 1)
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row, batch.source_mask[row] > 0, 0].tolist() == [*source, 0]
        assert batch.target[row, batch.target_mask[row] > 0].tolist() == [*target, 0]
    assert batch.words == batch.target_mask.sum()
