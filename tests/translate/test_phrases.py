"""Phrases in lines: their forms, their words, and invalid phrases."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats.loaded_model import LoadedModel, Reading
from cgru_cli.formats.model import Model
from cgru_cli.parameters.structure import Structure
from cgru_cli.search.constraints import Avoided
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.translate.phrases import Fields, Phrases, consistent, read_phrases, split_line

WORDS = ["eos", "UNK", "A", "B", "C@@", "D"]


def phrases(**settings):
    vocabulary = Vocabulary({word: i for i, word in enumerate(WORDS)})
    structure = Structure(
        source_vocabularies=(6,),
        source_embeddings=(2,),
        target_vocabulary=6,
        target_embedding=2,
        state=2,
    )
    model = Model("m.npz", structure, {}, "nematus")
    for name, value in settings.items():
        object.__setattr__(model.settings, name, value)
    return Phrases(LoadedModel(model, [vocabulary], vocabulary), Reading())


@each_row(
    ("line", "force_decode", "expected"),
    [
        ("a b", False, Fields("a b", "", [], [])),
        ("a b\tX\tY Z", False, Fields("a b", "", [["X"], ["Y Z"]], [])),
        ("a\tX\t\tY\tZ", False, Fields("a", "", [["X"]], ["Y", "Z"])),
        ("a\t\tY", False, Fields("a", "", [], ["Y"])),
        ("a\tX\t", False, Fields("a", "", [["X"]], [])),
        ("a\tbegin\tX\t\tY", True, Fields("a", "begin", [["X"]], ["Y"])),
        ("a\tX Y||Z ||\tW", False, Fields("a", "", [["X Y", "Z "], ["W"]], [])),
        ("a\t\tX||Y", False, Fields("a", "", [], ["X", "Y"])),
        (r"a" "\tx\\|\\|y\tz\\|||w|", False, Fields("a", "", [["x||y"], ["z|", "w|"]], [])),
        ("a\t\tX", True, Fields("a", "", [["X"]], [])),
        ("a", True, Fields("a", "", [], [])),
    ],
)
def test_fields_between_tabs(line, force_decode, expected):
    assert split_line(line, 0, "tabs", force_decode) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'das <n translation="X Y">kleine Haus</n> da',
            Fields("das kleine Haus da", "", [["X Y"]], []),
        ),
        ('<n translation="X||Y">a</n>', Fields("a", "", [["X", "Y"]], [])),
        (
            '<n translation="X">a</n> <np translation="Y">b</np>',
            Fields("a b", "", [["X"], ["Y"]], []),
        ),
        ('a<x avoid="Y"/> b', Fields("a b", "", [], ["Y"])),
        ('<n translation="X" avoid="Y">a</n>', Fields("a", "", [["X"]], ["Y"])),
        ('<a href="X">b</a> <unk> 1 < 2', Fields('<a href="X">b</a> <unk> 1 < 2', "", [], [])),
        ("a\tb", Fields("a\tb", "", [], [])),
    ],
)
def test_marks_in_the_source(line, expected):
    assert split_line(line, 0, "inline", False) == expected
    behind = split_line(f"{line}\tbegin", 0, "inline", True)
    assert behind == expected._replace(beginning="begin") or "\t" in line


@given(st.text(st.characters(exclude_characters='<>"\t')))
def test_a_line_without_marks_stays_as_it_is(line):
    assert split_line(line, 0, "inline", False) == Fields(line, "", [], [])


@pytest.mark.parametrize(
    "line",
    [
        'a <n translation="A">b',
        "a <n translation='A'>b</n>",
        'a <n avoid="A">b',
        '<n translation="A"><n translation="B">b</n></n>',
    ],
)
def test_a_mark_that_is_not_complete_is_an_error(line):
    with pytest.raises(CgruError, match=r"line 4: <n (translation|avoid)=.* is not complete"):
        split_line(line, 3, "inline", False)
    assert split_line(line, 0, None, False) == Fields(line, "", [], [])


def test_unsupported_marks_of_moses_are_refused():
    with pytest.raises(CgruError, match=r'line 3: prob="0.5" in <n>: a mark needs translation='):
        split_line('a <n translation="a||b" prob="0.5">b</n>', 2, "inline", False)


def test_phrases_are_words_of_the_vocabulary_in_the_order_of_writing():
    assert phrases().required(["A B", ["D"]], 0) == [[(2, 3)], [(5,)]]
    assert phrases(right_left=True).required(["A B", "D"], 0) == [[(3, 2)], [(5,)]]
    # alternatives that cannot be written are left out; an empty one is always there
    assert phrases().required([["D", "A E", "A B"], ["A", ""], []], 0) == [[(5,), (2, 3)]]
    with pytest.raises(CgruError, match=r"line 5: required phrase 'E' or 'A E': .*lacks a word"):
        phrases().required([["E", "A E"]], 4)
    with pytest.raises(CgruError, match=r"line 5: required phrase 'A E': .*lacks a word"):
        phrases().required(["B", "A E"], 4)
    assert phrases().avoided(["A E", "C@@ D"], 4) == [(4, 5)]  # the first cannot be written


def test_a_file_of_avoided_phrases(tmp_path, capsys):
    path = tmp_path / "avoid.gz"
    path.write_bytes(gzip.compress(b"A B\n\nnever\n D \n"))
    lines = read_phrases(str(path))
    assert lines == ["A B", "", "never", " D ", ""]
    assert phrases().avoided_of_file(lines, "avoid.gz") == [(2, 3), (5,)]
    assert "1 of 3 phrases" in capsys.readouterr().err
    (tmp_path / "latin").write_bytes(b"\xe4\n")
    for name, message in (("latin", "invalid UTF-8"), ("no", "not found")):
        with pytest.raises(CgruError, match=message):
            read_phrases(str(tmp_path / name))


def test_a_phrase_of_a_file_that_cannot_be_prepared():
    class Refusing:
        def apply(self, line, side):
            raise CgruError("it is too long")

    reading = Reading(Refusing())
    with pytest.raises(CgruError, match=r"^avoid.txt: line 3: it is too long$"):
        Phrases(phrases()._model, reading).avoided_of_file(["", " ", "long"], "avoid.txt")


def test_contradicting_phrases_are_refused():
    assert consistent([[(1, 2, 3)]], Avoided([(1, 3), (4,)]), 0) == [[(1, 2, 3)]]
    assert consistent([[(1, 2, 3), (3,)]], Avoided([(2, 3)]), 0) == [[(3,)]]
    with pytest.raises(CgruError, match="line 2: a required phrase contains an avoided one"):
        consistent([[(1,)], [(1, 2, 3)]], Avoided([(2, 3)]), 1)
