"""Vocabularies made from the training text, as Marian makes them."""

import io

import pytest

from cgru_cli.errors import UsageError
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.train import TrainOptions
from cgru_cli.train import tab_separated
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


def test_a_vocabulary_for_each_side(texts, tmp_path):
    make_missing(*texts("new/s.yml", "t.yml", compat="marian"))
    assert (tmp_path / "new/s.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2\nb: 3\nc: 4"
    assert (tmp_path / "t.yml").read_text() == "</s>: 0\n<unk>: 1\nx: 2\ny: 3"


def test_a_joint_vocabulary_and_no_vocabulary_is_replaced(texts, tmp_path):
    made = texts("both.yml", "both.yml", compat="marian", dim_vocabs=(4, 4))
    make_missing(*made)
    assert (tmp_path / "both.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2\nx: 3"
    (tmp_path / "both.yml").write_text("mine")
    make_missing(*made)
    assert (tmp_path / "both.yml").read_text() == "mine"


@pytest.mark.parametrize("numbers", [(4,), (4, 4, 9, 9)])
def test_numbers_of_words_must_match_the_vocabularies(texts, tmp_path, numbers):
    message = f"--dim-vocabs: {len(numbers)} numbers for 2 vocabularies"
    with pytest.raises(UsageError, match=message):
        make_missing(*texts("s.yml", "t.yml", compat="marian", dim_vocabs=numbers))
    assert not (tmp_path / "s.yml").exists()


def test_without_marian_none_are_made(texts, tmp_path):
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
        train_sets=(str(tmp_path / "all.tsv"),),
        tsv=True,
        vocabularies=paths,
        compat="marian",
        quiet=True,
    )
    make_missing(Texts.of(options, None), options)
    assert (tmp_path / "t.yml").read_text() == "</s>: 0\n<unk>: 1\nx: 2\ny: 3"


def test_vocabularies_are_beside_the_text_by_default(texts, tmp_path):
    made, options = texts(compat="marian", dim_vocabs=(4, 0))
    assert made.vocabularies == (tmp_path / "src.yml", tmp_path / "trg.yml")
    make_missing(made, options)
    assert (tmp_path / "src.yml").read_text() == "</s>: 0\n<unk>: 1\na: 2\nb: 3"
    assert (tmp_path / "trg.yml").read_text() == "</s>: 0\n<unk>: 1\nx: 2\ny: 3"
    (tmp_path / "src.yml").rename(tmp_path / "src.json")
    assert texts(compat="marian")[0].vocabularies[0] == tmp_path / "src.json"
    with pytest.raises(UsageError, match="name the vocabularies"):
        texts()


def test_a_file_with_both_sides_has_one_vocabulary(tmp_path):
    text = tmp_path / "all.tsv"
    text.write_text("a b\tx\na c\tx y\n")
    options = TrainOptions(train_sets=(str(text),), tsv=True, compat="marian", quiet=True)
    made = Texts.of(options, None)
    make_missing(made, options)
    assert set(made.vocabularies) == {tmp_path / "all.tsv.yml"}
    assert (tmp_path / "all.tsv.yml").read_text().splitlines()[2:] == [
        "a: 2",
        "x: 3",
        "b: 4",
        "c: 5",
        "y: 6",
    ]


def test_standard_input_needs_named_vocabularies(tmp_path, monkeypatch):
    monkeypatch.setattr(tab_separated, "standard_input", lambda: io.BytesIO(b"a\tx\n"))
    options = TrainOptions(train_sets=("stdin",), tsv=True, compat="marian")
    refused = pytest.raises(UsageError, match=r"^standard input has no vocabularies beside it")
    with tab_separated.with_standard_input(options) as copied, refused:
        Texts.of(copied, None)
