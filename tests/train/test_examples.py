"""Examples of a training run: batches, dropout, and positions in an epoch."""

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import runs
from cases import small_structure
from corpora import Encoder, encoded
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.corpus.parallel_files import Files
from cgru_cli.options.train import TrainOptions
from cgru_cli.text.line_variants import Variants
from cgru_cli.train.examples import EpochExamples, groups, what_fits
from cgru_cli.train.memory import memory_of_batch

DROPPING = {
    "dropout_embedding": 0.2,
    "dropout_hidden": 0.2,
    "dropout_source": 0.2,
    "dropout_target": 0.2,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sixty different pairs of ids."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = np.random.default_rng(3)
    for side in ("s", "t"):
        rows = [f"{i} {'1 ' * draw.integers(0, 6)}".strip() for i in range(60)]
        runs.lines(folder / side, rows)
    encoder = Encoder(
        lambda line: [(int(w) % 9 + 2,) for w in line.split()],
        lambda line: [int(w) + 2 for w in line.split()],
    )
    return encoded(folder / "cache", Files(folder / "s", folder / "t"), encoder=encoder)


def made(corpus, grid=False, **options):
    chosen = TrainOptions(**({"mini_batch": 8, "maxi_batch": 3} | options))
    return EpochExamples(corpus, small_structure(target_vocabulary=70), chosen, grid=grid)


def firsts(examples):
    """The pairs of each batch, by their first target words."""
    return [tuple(example.batch.target[: example.batch.sentences, 0] - 2) for example in examples]


def same(one, other):
    for a, b in zip(one.batch, other.batch, strict=True):
        np.testing.assert_array_equal(a, b)
    assert set(one.masks) == set(other.masks)
    for name, mask in one.masks.items():
        np.testing.assert_array_equal(mask, other.masks[name])


@pytest.mark.parametrize("compat", ["marian", None])
def test_the_dropout_of_marian(corpus, compat):
    """--dropout-rnn also drops embeddings that cells read, but no inputs of the readout."""
    example = next(made(corpus, compat=compat, dropout_hidden=0.2).epoch(0, 0))
    assert ("decoder/level1/cell1/W" in example.masks) == (compat == "marian")
    assert ("decoder/readout/lstm/W" in example.masks) == (compat is None)


def test_an_epoch_has_every_pair_once(corpus):
    data = made(corpus)
    epochs = [firsts(data.epoch(number, 0)) for number in range(2)]
    for epoch in epochs:
        assert sorted(itertools.chain(*epoch)) == list(range(60))
    assert epochs[0] != epochs[1]


def test_each_epoch_takes_other_variants(tmp_path):
    """An epoch resumes with the same ones."""
    runs.lines(tmp_path / "text", [f"w{i} x" for i in range(9)])
    encoder = Encoder(
        lambda line: [(3 + word.isupper(),) for word in line.split()],
        lambda line: [3 + word.isupper() for word in line.split()],
    )
    files = Files(tmp_path / "text", tmp_path / "text")
    variants = Variants((3, 0, 0, 0, 0))
    varied = encoded(tmp_path / "cache", files, encoder=encoder, variants=variants)
    data = made(varied, mini_batch=2, no_shuffle=True, maxi_batch_sort="none")
    epochs = [np.concatenate([e.batch.target[:, 0] for e in data.epoch(n, 0)]) for n in range(4)]
    assert [np.flatnonzero(epoch == 4).tolist() for epoch in epochs] == [
        [0, 3, 6], [2, 5, 8], [1, 4, 7], [0, 3, 6],
    ]  # fmt: skip
    for one, other in zip(list(data.epoch(2, 0))[3:], data.epoch(2, 3), strict=True):
        same(one, other)


def test_without_shuffling_the_order_is_that_of_the_text(corpus):
    data = made(corpus, no_shuffle=True, maxi_batch_sort="none")
    assert list(itertools.chain(*firsts(data.epoch(0, 0)))) == list(range(60))


@settings(max_examples=20)
@given(st.integers(0, 3), st.integers(0, 12), st.booleans())
def test_an_epoch_resumes_anywhere(corpus, number, start, grid):
    """Batches and masks depend only on seed and position."""
    data = made(corpus, grid=grid, **DROPPING)
    whole = list(data.epoch(number, 0))
    rest = list(made(corpus, grid=grid, **DROPPING).epoch(number, start))
    assert len(rest) == max(0, len(whole) - start)
    for one, other in zip(whole[start:], rest, strict=True):
        same(one, other)


def test_seed_epoch_and_place_decide_on_masks(corpus):
    def first(seed, number, start):
        return next(made(corpus, seed=seed, **DROPPING).epoch(number, start)).masks

    seen = {
        tuple(np.concatenate([m[:, :3].ravel() for _, m in sorted(first(*key).items())])[:200])
        for key in [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1)]
    }
    assert len(seen) == 4


def test_without_dropout_there_are_no_masks(corpus):
    assert all(not example.masks for example in made(corpus).epoch(0, 0))
    for name in (f.name for f in dataclasses.fields(TrainOptions)):
        if name.startswith("dropout_"):
            assert next(made(corpus, **{name: 0.3}).epoch(0, 0)).masks, name


@pytest.mark.parametrize("devices", [1, 3])
def test_on_the_grid_lengths_determine_the_rows(corpus, devices):
    options = TrainOptions(model="m", mini_batch=4, mini_batch_words=200, seed=3)
    structure = small_structure(target_vocabulary=70)
    data = EpochExamples(corpus, structure, options, grid=True, devices=devices)
    rows, pairs = {}, 0
    for batch, _ in data.epoch(0, 0):
        count, *lengths = batch.source.shape[0], batch.source.shape[1], batch.target.shape[1]
        rows.setdefault(tuple(lengths), set()).add(count)
        assert count % devices == 0
        assert (count - devices + 1) * max(lengths) <= 200
        pairs += batch.sentences
    assert pairs == len(corpus)
    assert all(len(counts) == 1 for counts in rows.values())


def test_the_grid_pads_and_changes_nothing_else(corpus):
    plain, grid = made(corpus, **DROPPING), made(corpus, grid=True, **DROPPING)
    for one, other in zip(plain.epoch(0, 0), grid.epoch(0, 0), strict=True):
        rows, words = one.batch.target.shape
        assert other.batch.words == one.batch.words
        assert other.batch.target.shape[1] % 8 == 0
        np.testing.assert_array_equal(other.batch.target[:rows, :words], one.batch.target)
        assert other.batch.target_mask.sum() == one.batch.target_mask.sum()
        for name, mask in one.masks.items():
            padded = other.masks[name]
            np.testing.assert_array_equal(padded[:rows, : mask.shape[1]], mask)
            assert (padded[rows:] == 1).all()
            assert (padded[:, mask.shape[1] :] == 1).all()


def test_batches_by_words(corpus):
    for example in made(corpus, mini_batch_words=30).epoch(0, 0):
        rows, words = example.batch.target.shape
        assert rows * max(words, example.batch.source.shape[1]) <= 30 or rows == 1
    fits = what_fits(TrainOptions(mini_batch_words=30, compat="nematus"), small_structure())
    assert fits(3, 11, 4) and not fits(3, 12, 4)  # 10 words and EOS
    marian = {"compat": "marian", "maxi_batch": 99, "no_shuffle": True}
    *batches, _ = made(corpus, mini_batch_words=30, **marian).epoch(0, 0)
    assert min(example.batch.source_mask.sum() for example in batches) > 30


def test_batches_by_what_fits():
    structure = small_structure()
    one, two = (
        TrainOptions(mini_batch=1000, mini_batch_fit=True, workspace=size) for size in (1, 2)
    )
    fits = what_fits(one, structure)
    most = next(n for n in range(1, 1000) if not fits(n + 1, 10, 10))
    assert memory_of_batch(structure, most, 10, 10) <= 2**20
    assert memory_of_batch(structure, most + 1, 10, 10) > 2**20
    for twice in (what_fits(two, structure), what_fits(one, structure, devices=2)):
        assert twice(2 * most, 10, 10)


@pytest.mark.parametrize(
    ("count", "size", "expected"), [(5, 1, [1] * 5), (5, 2, [2, 2, 1]), (4, 2, [2, 2]), (0, 3, [])]
)
def test_groups(count, size, expected):
    examples = [SimpleNamespace(number=i) for i in range(count)]
    made_groups = list(groups(iter(examples), size))
    assert [len(group) for group in made_groups] == expected
    assert list(itertools.chain(*made_groups)) == examples
