"""Training text in the fields of one file."""

import io
import os

import pytest

from cgru_cli.corpus.parallel_files import text_lines
from cgru_cli.corpus.text_encoding import TextEncoding
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train import tab_separated
from cgru_cli.train.dev_set import DevSet
from cgru_cli.train.encoding import encode
from cgru_cli.train.tab_separated import fields_of, with_standard_input
from cgru_cli.train.texts import Texts, read_vocabularies

ROWS = [("a b", "0.5", "x y", "0-0 1-1"), ("b", "2", "y", "0-0"), ("a", "1", "x x", "0-1")]


@pytest.fixture
def data(tmp_path):
    (tmp_path / "s.json").write_text('{"eos": 0, "UNK": 1, "a": 2, "b": 3}')
    (tmp_path / "t.json").write_text('{"eos": 0, "UNK": 1, "x": 2, "y": 3}')
    (tmp_path / "all.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS))
    for number, name in enumerate(("src", "weights", "trg", "points")):
        (tmp_path / name).write_text("".join(f"{row[number]}\n" for row in ROWS))
    return tmp_path


def texts(data, *train, **options):
    vocabularies = (str(data / "s.json"), str(data / "t.json"))[-1 if "type" in options else 0 :]
    asked = TrainOptions(
        train_sets=tuple(str(data / name) for name in train), vocabularies=vocabularies, **options
    )
    return Texts.of(asked, None)


def corpus(texts, cache):
    encoding = TextEncoding(read_vocabularies(texts, ()))
    return encode(texts, encoding, TrainOptions(), cache)


def test_fields_and_files_make_the_same_corpus(data, tmp_path):
    of_fields = texts(
        data, "all.tsv", tsv=True, guided_alignment=("3",), data_weighting=("1",), tsv_fields=4
    )
    of_files = texts(
        data,
        "src",
        "trg",
        guided_alignment=(str(data / "points"),),
        data_weighting=(str(data / "weights"),),
    )
    one, other = corpus(of_fields, tmp_path / "1"), corpus(of_files, tmp_path / "2")
    assert one.fingerprints == other.fingerprints
    assert one.columns.keys() == {"source", "target", "alignment", "weights"}
    assert corpus(of_fields, tmp_path / "1").fingerprints == one.fingerprints  # from the cache


def test_the_dev_set_has_the_same_fields_or_the_text_alone(data):
    (data / "dev.tsv").write_text("a\tx\nb\ty\n")
    for name, sources, targets in (
        ("dev.tsv", ["a", "b"], ["x", "y"]),
        ("all.tsv", ["a b", "b", "a"], ["x y", "y", "x x"]),
    ):
        source, target = texts(
            data,
            "all.tsv",
            tsv=True,
            guided_alignment=("3",),
            data_weighting=("1",),
            valid_sets=(str(data / name),),
        ).dev
        assert (list(text_lines(source)), list(text_lines(target))) == (sources, targets)
        words = Vocabulary({word: i for i, word in enumerate(["eos", "UNK", "x", "y"])})
        read = DevSet.read(None, target, TextEncoding([words]), reference=target)
        assert read.references == targets


def test_a_language_model_has_one_field(data):
    read = texts(data, "trg", tsv=True, type="lm", valid_sets=(str(data / "trg"),))
    assert read.sources == []
    assert list(text_lines(read.targets[0])) == list(text_lines(read.dev[1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tsv_fields": 3}, "--tsv-fields 3: 2 are read"),
        ({"guided_alignment": ("points",)}, "--guided-alignment points: .* the number of a field"),
        ({"data_weighting": ("3",)}, "field 3: there are 3 fields"),
        ({"data_weighting": ("2",), "guided_alignment": ("2",)}, "are both field 2"),
    ],
)
def test_invalid_fields(options, message):
    with pytest.raises(UsageError, match=message):
        fields_of(TrainOptions(tsv=True, train_sets=("f",), **options))


def test_standard_input_is_read_once_and_its_copy_removed(monkeypatch):
    given = io.BytesIO(b"a\tx\n" * 1000)
    monkeypatch.setattr(tab_separated, "standard_input", lambda: given)
    with with_standard_input(TrainOptions(train_sets=("stdin",), tsv=True)) as options:
        (path,) = options.train_sets
        with open(path, "rb") as file:
            assert file.read() == given.getvalue()
    assert not os.path.exists(path)


def test_standard_input_without_text(monkeypatch):
    monkeypatch.setattr(tab_separated, "standard_input", io.BytesIO)
    for sets, error, message in (
        (("-",), CgruError, "standard input is empty"),
        (("-", "t"), UsageError, "must hold the whole text"),
    ):
        with (
            pytest.raises(error, match=message),
            with_standard_input(TrainOptions(train_sets=sets)),
        ):
            pass
