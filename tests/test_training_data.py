"""What a training reads: files, batches, dropout, and where in an epoch it is."""

import dataclasses
import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import runs
from cases import small_structure
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.corpus import encode_corpus
from cgru_cli.encoding import Beside
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.train_options import TrainOptions
from cgru_cli.training_data import (
    Data,
    Texts,
    batch_size,
    check_eos,
    encode,
    groups,
    memory_of_batch,
    read_vocabularies,
)

# -- files -----------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    return runs.prepared(tmp_path / "data")


def texts(folder=None, **options):
    return Texts.of(TrainOptions(**options), folder and str(folder))


def test_a_prepared_folder(data):
    (data / "dev.ref").write_text("")
    (data / "preprocess.json").write_text("")
    assert texts(data) == Texts(
        sources=(data / "train.src",),
        targets=(data / "train.trg",),
        vocabularies=(data / "vocab.src.json", data / "vocab.trg.json"),
        dev=(data / "dev.src", data / "dev.trg"),
        reference=data / "dev.ref",
        preprocessing=data / "preprocess.json",
    )


@pytest.mark.parametrize("name", ["vocab.json", "vocab.spm"])
def test_one_vocabulary_for_both_sides(data, name):
    for path in data.glob("vocab.*"):
        path.unlink()
    (data / name).write_text("")
    assert texts(data).vocabularies == (data / name, data / name)


def test_vocabularies_of_factors(data):
    for number in (2, 1):
        (data / f"vocab.factor{number}.json").write_text("")
    names = ["vocab.src.json", "vocab.factor1.json", "vocab.factor2.json", "vocab.trg.json"]
    assert [path.name for path in texts(data).vocabularies] == names


def test_several_sets_to_validate_on(data):
    for end in ("src", "trg"):
        (data / f"dev.{end}").rename(data / f"dev1.{end}")
    assert texts(data).dev == (data / "dev1.src", data / "dev1.trg")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("manifest.json", r"no manifest.json, with which `cgru prep` ends"),
        ("train.src", "no train.src, which `cgru prep` made"),
        ("vocab.trg.json", "no vocab.trg.json"),
    ],
)
def test_a_folder_that_is_not_whole(data, name, message):
    (data / name).unlink()
    with pytest.raises(CgruError, match=f"^{data}: {message}"):
        texts(data)


def test_no_such_folder(tmp_path):
    with pytest.raises(CgruError, match="none: no such folder; `cgru prep"):
        texts(tmp_path / "none")


@pytest.mark.parametrize(
    "named",
    [
        {"train_sets": ("{0}/train.src", "{0}/train.trg")},
        {"source_dataset": "{0}/train.src", "target_dataset": "{0}/train.trg"},
    ],
)
@pytest.mark.parametrize(
    "valid",
    [
        {"valid_sets": ("{0}/dev.src", "{0}/dev.trg")},
        {
            "valid_source_dataset": "{0}/dev.src",
            "valid_target_dataset": "{0}/dev.trg",
            "valid_reference": "{0}/dev.trg",
        },
    ],
)
def test_files_named_one_by_one(data, named, valid):
    def there(value):
        if isinstance(value, tuple):
            return tuple(map(there, value))
        return value.format(data)

    options = {name: there(value) for name, value in (named | valid).items()}
    vocabularies = (str(data / "vocab.src.json"), str(data / "vocab.trg.json"))
    found = texts(**options, vocabularies=vocabularies)
    assert found.sources == (data / "train.src",)
    assert found.targets == (data / "train.trg",)
    assert found.vocabularies == tuple(map(Path, vocabularies))
    assert found.dev == (data / "dev.src", data / "dev.trg")
    assert found.reference == (data / "dev.trg" if "valid_reference" in options else None)


def test_several_files_a_side(data):
    names = ["train.src", "dev.src", "train.trg", "dev.trg"]
    found = texts(data, train_sets=tuple(str(data / name) for name in names))
    assert [path.name for path in (*found.sources, *found.targets)] == names


def test_other_text_to_validate_on_has_its_own_reference(data):
    (data / "dev.ref").write_text("")
    found = texts(data, valid_sets=(str(data / "train.src"), str(data / "train.trg")))
    assert (found.dev[0], found.reference) == (data / "train.src", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name the text"),
        ({"train_sets": ("a",)}, "--train-sets: 1 files"),
        ({"train_sets": ("a", "b")}, "name the vocabularies"),
        ({"source_dataset": "a"}, "--source-dataset and --target-dataset go together"),
        (
            {"source_dataset": "a", "target_dataset": "b", "train_sets": ("a", "b")},
            "without --train-sets",
        ),
        (
            {"train_sets": ("a", "b"), "vocabularies": ("c",), "valid_sets": ("d",)},
            "--valid-sets: a source and a target",
        ),
        (
            {"train_sets": ("a", "b"), "vocabularies": ("c",), "valid_target_dataset": "d"},
            "--valid-source-dataset and --valid-target-dataset go together, and without --valid-s",
        ),
        (
            {"train_sets": ("a", "b"), "vocabularies": ("c",), "valid_reference": "d"},
            "--valid-reference: name the text",
        ),
    ],
)
def test_files_that_are_not_named(options, message):
    with pytest.raises(UsageError, match=message):
        texts(**options)


def test_files_that_cannot_be_read(data):
    with pytest.raises(CgruError, match="none: No such file"):
        texts(data, train_sets=(str(data / "train.src"), str(data / "none")))
    with pytest.raises(CgruError, match=r"dev.none: No such file"):
        texts(data, valid_sets=(str(data / "dev.src"), str(data / "dev.none")))


# -- what goes with the text -----------------------------------------------------------------------


@pytest.fixture
def three(data):
    """Options that name three pairs, an alignment and weights of each."""
    for side, i in itertools.product("stwa", range(3)):
        (data / f"{side}{i}").write_text("")

    def names(side):
        return tuple(str(data / f"{side}{i}") for i in range(3))

    return {
        "train_sets": names("s") + names("t"), "guided_alignment": names("a"),
        "data_weighting": names("w"),
    }  # fmt: skip


def test_alignments_and_weights(data, three):
    assert texts(data).beside == Beside()
    found = texts(data, **three, data_weighting_type="word", domain_weights=(1.0, 0.0, 2.5))
    assert [path.name for path in (*found.sources, *found.targets)] == ["s0", "s2", "t0", "t2"]
    assert found.beside == Beside(
        (data / "a0", data / "a2"), (data / "w0", data / "w2"), True, (1.0, 2.5)
    )
    assert texts(data, guided_alignment=("none",)).beside == Beside()  # as Marian says it
    assert texts(data, domain_weights=(0.5,)).beside.domains == (0.5,)


@pytest.mark.parametrize("name", ["guided_alignment", "data_weighting", "domain_weights"])
def test_as_many_of_each(data, three, name):
    changed = three | {name: (three.get(name) or (1.0, 1.0, 1.0))[:2]}
    flag = "--" + name.replace("_", "-")
    with pytest.raises(UsageError, match=f"{flag}: 2 given; one is expected for each .* 3"):
        texts(data, **changed)


@pytest.mark.parametrize("weights", [(1.0, -1.0, 1.0), (0.0, 0.0, 0.0)])
def test_domains_that_are_none(data, three, weights):
    with pytest.raises(UsageError, match="--domain-weights: none may be negative, and not all"):
        texts(data, **three, domain_weights=weights)


@pytest.mark.parametrize("name", ["a1", "w2"])
def test_alignments_and_weights_that_cannot_be_read(data, three, name):
    (data / name).unlink()
    with pytest.raises(CgruError, match=f"{name}: No such file"):
        texts(data, **three)


def test_the_text_of_a_language_model_is_weighted_too(data, three):
    found = texts(
        type="lm", train_sets=three["train_sets"][3:], data_weighting=three["data_weighting"],
        domain_weights=(0.0, 1.0, 1.0), vocabularies=(str(data / "vocab.trg.json"),),
    )  # fmt: skip
    assert [path.name for path in found.targets] == ["t1", "t2"]
    assert [path.name for path in found.beside.weights] == ["w1", "w2"]


# -- vocabularies ----------------------------------------------------------------------------------


def test_vocabularies_and_their_limits(data):
    given_texts = texts(data)
    assert [v.size for v in read_vocabularies(given_texts, ())] == [14, 14]
    assert [v.size for v in read_vocabularies(given_texts, (5, 0))] == [5, 14]
    with pytest.raises(UsageError, match="--dim-vocabs: 1 numbers for 2 vocabularies"):
        read_vocabularies(given_texts, (5,))
    with pytest.raises(UsageError, match="0 for all"):
        read_vocabularies(given_texts, (5, -1))


def test_a_vocabulary_that_ends_sentences_otherwise():
    with pytest.raises(CgruError, match=r"^v.spm: ends sentences by id 2; id 0 is needed"):
        check_eos(SimpleNamespace(path="v.spm", eos_id=2))


# -- the corpus ------------------------------------------------------------------------------------


def encoded(folder, cache, **options):
    given_texts = texts(folder)
    return encode(given_texts, read_vocabularies(given_texts, ()), TrainOptions(**options), cache)


def test_text_becomes_ids(data, tmp_path):
    corpus = encoded(data, tmp_path / "cache")
    assert len(corpus) == 60
    source = (data / "train.src").read_text().splitlines()
    target = (data / "train.trg").read_text().splitlines()
    for i in range(60):
        assert [runs.WORDS[n - 2] for n in corpus.source(i)[:, 0]] == source[i].split()
        assert [runs.WORDS[n - 2].upper() for n in corpus.target(i)] == target[i].split()


def test_longer_pairs(data, tmp_path):
    longer = sum(len(line.split()) > 3 for line in (data / "train.src").read_text().splitlines())
    left_out = encoded(data, tmp_path / "a", max_length=3)
    assert (len(left_out), left_out.skipped["too long"]) == (60 - longer, longer)
    cut = encoded(data, tmp_path / "b", max_length=3, max_length_crop=True)
    assert (len(cut), cut.skipped["cut"], cut.lengths.max()) == (60, longer, 4)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\n", {}, "train.src has 60 lines and .*train.trg 1"),
        ("\n" * 60, {}, "nothing is left of 60 lines"),
    ],
)
def test_text_that_cannot_be_trained_on(data, tmp_path, content, options, message):
    (data / "train.trg").write_text(content)
    with pytest.raises(CgruError, match=message):
        encoded(data, tmp_path / "cache", **options)
    assert not (tmp_path / "cache").exists()


# -- batches ---------------------------------------------------------------------------------------

DROPPING = {
    "dropout_embedding": 0.2, "dropout_hidden": 0.2, "dropout_source": 0.2, "dropout_target": 0.2,
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sixty pairs of ids, no two the same."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = np.random.default_rng(3)
    for side in ("s", "t"):
        rows = [f"{i} {'1 ' * draw.integers(0, 6)}".strip() for i in range(60)]
        runs.lines(folder / side, rows)
    return encode_corpus(
        [folder / "s"], [folder / "t"], lambda line: [(int(w) % 9 + 2,) for w in line.split()],
        lambda line: [int(w) + 2 for w in line.split()], folder / "cache",
        max_length=100, crop=False, key="",
    )  # fmt: skip


def made(corpus, grid=False, **options):
    given_options = TrainOptions(**({"mini_batch": 8, "maxi_batch": 3} | options))
    return Data.of(corpus, small_structure(target_vocabulary=70), given_options, grid=grid)


def firsts(examples):
    """Which pairs each batch has, by their first target words."""
    return [tuple(example.batch.target[: example.batch.sentences, 0] - 2) for example in examples]


def same(one, other):
    for a, b in zip(one.batch, other.batch, strict=True):
        np.testing.assert_array_equal(a, b)
    assert set(one.masks) == set(other.masks)
    for name, mask in one.masks.items():
        np.testing.assert_array_equal(mask, other.masks[name])


def test_every_pair_once_an_epoch(corpus):
    data = made(corpus)
    epochs = [firsts(data.epoch(number, 0)) for number in range(2)]
    for epoch in epochs:
        assert sorted(itertools.chain(*epoch)) == list(range(60))
    assert epochs[0] != epochs[1]


def test_without_shuffling_the_order_is_that_of_the_text(corpus):
    data = made(corpus, no_shuffle=True, maxi_batch_sort="none")
    assert list(itertools.chain(*firsts(data.epoch(0, 0)))) == list(range(60))


@settings(max_examples=20)
@given(st.integers(0, 3), st.integers(0, 12), st.booleans())
def test_an_epoch_goes_on_anywhere(corpus, number, start, grid):
    """Batches and masks depend on seed and position alone, not on what came before."""
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


def test_batches_by_what_fits():
    structure = small_structure()
    options = TrainOptions(mini_batch_fit=True, workspace=1, mini_batch=1000)
    size = batch_size(options, structure)
    most = next(n for n in range(1, 1000) if not size.fits(n + 1, 10, 10))
    assert memory_of_batch(structure, most, 10, 10) <= 2**20
    assert memory_of_batch(structure, most + 1, 10, 10) > 2**20
    twice = batch_size(dataclasses.replace(options, workspace=2), structure)
    assert twice.fits(2 * most, 10, 10)


@pytest.mark.parametrize(
    ("count", "size", "expected"), [(5, 1, [1] * 5), (5, 2, [2, 2, 1]), (4, 2, [2, 2]), (0, 3, [])]
)
def test_groups(count, size, expected):
    examples = [SimpleNamespace(number=i) for i in range(count)]
    made_groups = list(groups(iter(examples), size))
    assert [len(group) for group in made_groups] == expected
    assert list(itertools.chain(*made_groups)) == examples
