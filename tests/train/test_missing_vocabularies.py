"""Vocabularies made of the training text, as Marian makes them."""

import pytest

from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.missing_vocabularies import make_missing
from cgru_cli.train.texts import Texts


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "src").write_text("a b\na c\n")
    (tmp_path / "trg").write_text("x\nx y\n")

    def of(*vocabularies, **options):
        named = tuple(str(tmp_path / name) for name in ("src", "trg"))
        paths = tuple(str(tmp_path / name) for name in vocabularies)
        asked = TrainOptions(train_sets=named, vocabularies=paths, quiet=True, **options)
        return Texts.of(asked, None), asked

    return of


def test_each_side_has_its_words(texts, tmp_path):
    make_missing(*texts("new/s.yml", "t.yml", compat="marian"))
    assert (tmp_path / "new/s.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2\nb: 3\nc: 4"
    assert (tmp_path / "t.yml").read_text() == "</s>: 0\n<unk>: 1\nx: 2\ny: 3"


def test_one_for_both_is_of_both_and_none_is_replaced(texts, tmp_path):
    made = texts("both.yml", "both.yml", compat="marian", dim_vocabs=(4, 4))
    make_missing(*made)
    assert (tmp_path / "both.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2\nx: 3"
    (tmp_path / "both.yml").write_text("mine")
    make_missing(*made)
    assert (tmp_path / "both.yml").read_text() == "mine"


def test_others_make_none(texts, tmp_path):
    make_missing(*texts("s.yml", "t.yml"))
    make_missing(*texts("s.spm", "t.spm"))
    assert not (tmp_path / "s.yml").exists() and not (tmp_path / "s.spm").exists()


def test_a_spm_is_learned_of_the_text_with_marians_specials(texts, tmp_path, capsys):
    made = texts("both.spm", "both.spm", compat="marian", dim_vocabs=(9, 9))
    make_missing(*made)
    vocabulary = read_vocabulary(tmp_path / "both.spm")
    assert (vocabulary.eos_id, len(vocabulary)) == (0, 9)
    assert "".join(vocabulary.decode(vocabulary.encode(vocabulary.tokenize("a x")))) == "▁a▁x"
    make_missing(
        *texts("own.spm", "own.spm", dim_vocabs=(9, 9), sentencepiece_options="--num_threads=1")
    )
    assert (tmp_path / "own.spm").exists()
    make_missing(*texts("own.spm", "own.spm", sentencepiece_options="--num_threads=1"))
    assert "--sentencepiece-options: no effect" in capsys.readouterr().err


def test_fields_between_tabs_are_text_of_their_side(tmp_path):
    (tmp_path / "all.tsv").write_text("a b\tx\na c\tx y\n")
    paths = (str(tmp_path / "s.yml"), str(tmp_path / "t.yml"))
    options = TrainOptions(
        train_sets=(str(tmp_path / "all.tsv"),), tsv=True, vocabularies=paths, compat="marian",
        quiet=True,
    )  # fmt: skip
    make_missing(Texts.of(options, None), options)
    assert (tmp_path / "t.yml").read_text() == "</s>: 0\n<unk>: 1\nx: 2\ny: 3"
