"""The dev set: ids, cut lines, references, and files that do not match."""

import pytest

from cgru_cli.corpus.text_encoding import TextEncoding
from cgru_cli.errors import CgruError
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.dev_set import DevSet

SOURCE = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "a", "b", "c"])})
TARGET = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "A", "B", "C@@", "D"])})
FACTOR = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "N", "V"])})


@pytest.fixture
def write(tmp_path):
    """A function that writes a source and a target file."""

    def files(source, target):
        (tmp_path / "dev.src").write_text(source)
        (tmp_path / "dev.trg").write_text(target)
        return tmp_path / "dev.src", tmp_path / "dev.trg"

    return files


def read(paths, sources=(SOURCE,), reference=None, max_length=1000, lines=0, **more):
    encoding = TextEncoding((*sources, TARGET), **more)
    return DevSet.read(*paths, encoding, reference=reference, max_length=max_length, lines=lines)


def test_ids_and_references_by_hand(write):
    made = read(write("a zzz\n\nb  c\n", "A C@@ D\nB\nzzz\n"))
    assert made.sources == [[(2,), (1,)], [], [(3,), (4,)]]
    assert made.targets == [[2, 4, 5], [3], [1]]
    assert made.references == ["A CD", "B", "zzz"]


def test_lines_are_spread_evenly_over_the_text(write):
    paths = write("a\nb\nc\na a\nb b\n", "A\nB\nD\nA A\nB B\n")
    whole, some = read(paths), read(paths, lines=2)
    assert some.sources == [[(2,)], [(4,)]] and some.targets == [[2], [5]]
    assert some.references == ["A", "D"] and some.fingerprint != whole.fingerprint
    assert read(paths, lines=9) == read(paths, lines=5) == whole
    assert read(write("a\nc\n", "A\nD\n")).fingerprint == some.fingerprint


def test_factors(write):
    made = read(write("a|N b|V\n", "A\n"), (SOURCE, FACTOR))
    assert made.sources == [[(2, 2), (3, 3)]]
    with pytest.raises(CgruError, match=r"dev.src: line 2: 'b' has 1 factors, expected 2"):
        read(write("a|N\nb\n", "A\nB\n"), (SOURCE, FACTOR))


def test_a_language_model_reads_the_target_alone(write):
    _, target = write("", "A B\nB\n")
    made = read((None, target), ())
    assert (made.sources, made.targets) == ([[], []], [[2, 3], [3]])


def test_right_to_left(write):
    """Ids are in the order of the model, references in that of the text."""
    made = read(write("a\n", "A B C@@ D\n"), right_left=True)
    assert made.targets == [[5, 4, 3, 2]]
    assert made.references == ["A B CD"]
    assert made.encoding.text([5, 4, 3, 2, 0, 3]) == "A B CD"
    both = {"right_left": True, "source_reversed": True}
    made = read(write("a|N b|V c|N\n", "A B\n"), (SOURCE, FACTOR), **both)
    assert made.sources == [[(4, 2), (3, 3), (2, 2)]] and made.targets == [[3, 2]]
    made = read(write("a b c\n", "A\n"), **both, max_length=2)
    assert made.sources == [[(3,), (2,)]]  # the beginning of a long source
    assert TextEncoding((SOURCE, TARGET)).text([2, 4, 5, 0, 3]) == "A CD"


def test_preprocessing_is_undone(write):
    pipeline = PipelineSettings(
        languages=("en", "de"), subwords="subword-nmt", pieces=True, tokenize=True
    )
    preprocessing = Preprocessing(pipeline, subword_models=("#version: 0.2\nC D</w>\n",))
    made = read(write("a\n", "A C@@ D .\n"), preprocessing=preprocessing)
    assert made.references == [preprocessing.undo("A C@@ D .")] == ["A CD."]
    assert made.encoding.text([2, 4, 5]) == "A CD"


def test_references_of_pieces(write, monkeypatch):
    pieces = Vocabulary({"eos": 0, "UNK": 1, "\u2581ab": 2, "c": 3}, "v")
    monkeypatch.setattr(pieces, "splits", False)
    monkeypatch.setattr(pieces, "detokenize", lambda words: "".join(words).replace("\u2581", " "))
    encoding = TextEncoding((SOURCE, pieces))
    made = DevSet.read(*write("a\n", "\u2581ab c \u2581ab\n"), encoding)
    assert (made.targets, made.references) == ([[2, 3, 2]], [" abc ab"])


def test_a_separate_reference(write, tmp_path):
    (tmp_path / "ref").write_text("It is one.\nAnd two.\n")
    made = read(write("a\nb\n", "A\nB\n"), reference=tmp_path / "ref")
    assert made.references == ["It is one.", "And two."]


def test_long_lines_are_cut(write, capsys):
    made = read(write("a b c a\na\n", "A B D\nA\n"), max_length=2)
    assert made.sources == [[(2,), (3,)], [(2,)]]
    assert made.targets == [[2, 3], [2]]
    assert capsys.readouterr().err.count("1 lines were cut to 2 words") == 2


def test_files_that_do_not_match(write, tmp_path):
    with pytest.raises(CgruError, match=r"dev.src has 2 lines and .*dev.trg 1"):
        read(write("a\nb\n", "A\n"))
    with pytest.raises(CgruError, match=r"dev.src: is empty"):
        read(write("", ""))
    source, target = write("a\nb\n", "A\nB\n")
    with pytest.raises(CgruError, match="none: No such file"):
        read((source, tmp_path / "none"))
    (tmp_path / "ref").write_text("one\n")
    with pytest.raises(CgruError, match=r"dev.src has 2 lines and .*ref 1"):
        read((source, target), reference=tmp_path / "ref")
