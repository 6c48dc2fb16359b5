"""The texts and vocabularies that a training run reads."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest
import runs

from cgru_cli.corpus.parallel_files import Files
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.texts import Texts, check_eos, read_vocabularies

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
        files=(Files(data / "train.src", data / "train.trg"),),
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
    factors = [f"vocab.factor{number}.json" for number in range(1, 12)]
    for name in factors:
        (data / name).write_text("")
    names = ["vocab.src.json", *factors, "vocab.trg.json"]
    assert [path.name for path in texts(data).vocabularies] == names


def test_several_sets_to_validate_on(data):
    for end in ("src", "trg"):
        (data / f"dev.{end}").rename(data / f"dev1.{end}")
    assert texts(data).dev == (data / "dev1.src", data / "dev1.trg")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("manifest.json", r"no manifest.json, which `cgru prep` writes last"),
        ("train.src", "no train.src, which `cgru prep` made"),
        ("vocab.trg.json", "no vocab.trg.json or vocab.trg.spm or vocab.json or vocab.spm, which"),
    ],
)
def test_an_incomplete_folder(data, name, message):
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
    ],
)
@pytest.mark.parametrize(
    "valid",
    [
        {"valid_sets": ("{0}/dev.src", "{0}/dev.trg")},
        {
            "valid_sets": ("{0}/dev.src", "{0}/dev.trg"),
            "valid_reference": "{0}/dev.trg",
        },
    ],
)
def test_files_that_options_name(data, named, valid):
    def there(value):
        if isinstance(value, tuple):
            return tuple(map(there, value))
        return value.format(data)

    options = {name: there(value) for name, value in (named | valid).items()}
    vocabularies = (str(data / "vocab.src.json"), str(data / "vocab.trg.json"))
    read = texts(**options, vocabularies=vocabularies)
    assert read.files == (Files(data / "train.src", data / "train.trg"),)
    assert read.vocabularies == tuple(map(Path, vocabularies))
    assert read.dev == (data / "dev.src", data / "dev.trg")
    assert read.reference == (data / "dev.trg" if "valid_reference" in options else None)


def test_several_files_a_side(data):
    names = ["train.src", "dev.src", "train.trg", "dev.trg"]
    read = texts(data, train_sets=tuple(str(data / name) for name in names))
    assert [path.name for path in (*read.sources, *read.targets)] == names


def test_another_dev_set_does_not_use_the_reference_of_the_folder(data):
    (data / "dev.ref").write_text("")
    read = texts(data, valid_sets=(str(data / "train.src"), str(data / "train.trg")))
    assert (read.dev[0], read.reference) == (data / "train.src", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name the text"),
        ({"train_sets": ("a",)}, "--train-sets: 1 files"),
        ({"train_sets": ("a", "b")}, "name the vocabularies"),
        (
            {"train_sets": ("a", "b"), "vocabularies": ("c",), "valid_sets": ("d",)},
            "--valid-sets: a source and a target",
        ),
        (
            {"train_sets": ("a", "b"), "vocabularies": ("c",), "valid_reference": "d"},
            "--valid-reference: name the text",
        ),
    ],
)
def test_missing_and_contradictory_file_options(options, message):
    with pytest.raises(UsageError, match=message):
        texts(**options)


def test_files_that_cannot_be_read(data):
    with pytest.raises(CgruError, match="none: No such file"):
        texts(data, train_sets=(str(data / "train.src"), str(data / "none")))
    with pytest.raises(CgruError, match=r"dev.none: No such file"):
        texts(data, valid_sets=(str(data / "dev.src"), str(data / "dev.none")))


# -- alignments and weights -----------------------------------------------------------------------


@pytest.fixture
def three(data):
    """Options that name three pairs, an alignment and weights of each."""
    for side, i in itertools.product("stwa", range(3)):
        (data / f"{side}{i}").write_text("")

    def names(side):
        return tuple(str(data / f"{side}{i}") for i in range(3))

    return {
        "train_sets": names("s") + names("t"),
        "guided_alignment": names("a"),
        "data_weighting": names("w"),
    }


def test_alignments_and_weights(data, three):
    assert texts(data).files == (Files(data / "train.src", data / "train.trg"),)
    read = texts(data, **three, data_weighting_type="word", domain_weights=(1.0, 0.0, 2.5))
    assert [path.name for path in (*read.sources, *read.targets)] == ["s0", "s2", "t0", "t2"]
    assert read.files == tuple(
        Files(*(data / f"{side}{i}" for side in "staw"), factor)
        for i, factor in ((0, 1.0), (2, 2.5))
    )
    assert texts(data, guided_alignment=("none",)).files[0].alignment is None  # as in Marian
    assert texts(data, domain_weights=(0.5,)).files[0].factor == 0.5


@pytest.mark.parametrize("name", ["guided_alignment", "data_weighting", "domain_weights"])
def test_numbers_of_files_must_match(data, three, name):
    changed = three | {name: (three.get(name) or (1.0, 1.0, 1.0))[:2]}
    flag = "--" + name.replace("_", "-")
    with pytest.raises(UsageError, match=f"{flag}: 2 given; one is expected for each .* 3"):
        texts(data, **changed)


@pytest.mark.parametrize(
    ("weights", "message"),
    [((1.0, -1.0, 1.0), "-1.0: a number from 0 "), ((0.0, 0.0, 0.0), "not all may be 0")],
)
def test_invalid_domain_weights(data, three, weights, message):
    with pytest.raises(UsageError, match=f"--domain-weights:? {message}"):
        texts(data, **three, domain_weights=weights)


@pytest.mark.parametrize("name", ["a1", "w2"])
def test_alignments_and_weights_that_cannot_be_read(data, three, name):
    (data / name).unlink()
    with pytest.raises(CgruError, match=f"{name}: No such file"):
        texts(data, **three)


def test_the_text_of_a_language_model_is_weighted_too(data, three):
    read = texts(
        type="lm",
        train_sets=three["train_sets"][3:],
        data_weighting=three["data_weighting"],
        domain_weights=(0.0, 1.0, 1.0),
        vocabularies=(str(data / "vocab.trg.json"),),
    )
    assert [path.name for path in read.targets] == ["t1", "t2"]
    assert [files.weight.name for files in read.files] == ["w1", "w2"]


# -- vocabularies ----------------------------------------------------------------------------------


def test_vocabularies_and_their_limits(data):
    given_texts = texts(data)
    assert [v.size for v in read_vocabularies(given_texts, ())] == [14, 14]
    assert [v.size for v in read_vocabularies(given_texts, (5, 0))] == [5, 14]
    with pytest.raises(UsageError, match="--dim-vocabs: 1 numbers for 2 vocabularies"):
        read_vocabularies(given_texts, (5,))
    with pytest.raises(UsageError, match="--dim-vocabs -1: a whole number from 0"):
        TrainOptions(dim_vocabs=(5, -1))


def test_a_vocabulary_with_another_id_for_eos():
    with pytest.raises(CgruError, match=r"^v.spm: the id of EOS is 2; it must be 0"):
        check_eos(SimpleNamespace(path="v.spm", eos_id=2))
