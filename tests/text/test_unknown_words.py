"""Replacing unknown words by the alignment, and joining sub-words."""

import gzip
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.text.subwords import join_bpe
from cgru_cli.text.unknown_words import read_lexicon, replace_unknown

# Source a b </s>, target UNK x UNK </s>; EOS has the highest weight in the first row.
ALIGNMENT = np.array(
    [[0.1, 0.3, 0.6], [0.8, 0.1, 0.1], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]], np.float32
)
TOKENS, SOURCE, UNKNOWN = ["UNK", "x", "UNK"], ["a", "b"], "UNK"


def test_unknown_words_become_their_source_words():
    assert replace_unknown(TOKENS, ALIGNMENT, SOURCE, UNKNOWN) == ["b", "x", "a"]
    assert TOKENS == ["UNK", "x", "UNK"]


def test_lexicon_translates_and_other_words_are_copied():
    replaced = replace_unknown(TOKENS, ALIGNMENT, SOURCE, UNKNOWN, {"b": "B"})
    assert replaced == ["B", "x", "a"]


def test_a_table_for_shortlists_has_the_target_first(tmp_path):
    path = tmp_path / "lex.s2t"
    path.write_text("B b 0.4\nBB b 0.6\nA a 1\nNULL a 1\nC NULL 1\n")
    assert read_lexicon(path) == {"b": "BB", "a": "A"}
    with gzip.open(tmp_path / "lex.s2t.gz", "wt") as file:
        file.write("B b 0.4\n")
    assert read_lexicon(tmp_path / "lex.s2t.gz") == {"b": "B"}


def test_an_unfinished_hypothesis_has_no_row_for_eos():
    assert replace_unknown(TOKENS, ALIGNMENT[:3], SOURCE, UNKNOWN) == ["b", "x", "a"]


def test_a_source_cut_at_the_length_limit_has_fewer_columns():
    assert replace_unknown(TOKENS, ALIGNMENT, ["a", "b", "c", "d"], UNKNOWN) == ["b", "x", "a"]


def test_an_empty_source_leaves_unknown_words_as_they_are():
    assert replace_unknown(["UNK"], np.ones((2, 1), np.float32), [], UNKNOWN) == ["UNK"]
    assert replace_unknown([], np.ones((1, 1), np.float32), [], UNKNOWN) == []


@given(st.lists(st.sampled_from(["UNK", "x", "y@@"])), st.integers(1, 6), st.data())
def test_only_unknown_words_change_and_only_to_source_words(tokens, length, data):
    source = [f"s{i}" for i in range(length)]
    cells = st.lists(st.floats(0, 1, width=32), min_size=length + 1, max_size=length + 1)
    rows = data.draw(st.lists(cells, min_size=len(tokens) + 1, max_size=len(tokens) + 1))
    replaced = replace_unknown(tokens, np.array(rows, np.float32), source, UNKNOWN)
    assert len(replaced) == len(tokens)
    for old, new, row in zip(tokens, replaced, rows, strict=False):
        assert new == old if old != "UNK" else row[source.index(new)] == max(row[:-1])


@pytest.mark.parametrize(
    ("subwords", "words"),
    [
        ("ein La@@ st@@ wagen .", "ein Lastwagen ."),
        ("cut in the mid@@", "cut in the mid"),
        ("@@ @@", ""),
        ("a@@b me@@@ x", "a@@b me@x"),
        ("", ""),
    ],
)
def test_join_bpe(subwords, words):
    assert join_bpe(subwords) == words


@given(st.lists(st.sampled_from(["@", "@@", " ", "a", "\u2028", "é"])).map("".join))
def test_join_bpe_is_what_sed_does(text):
    assert join_bpe(text) == _sed(text)


def _sed(text):
    command = ["sed", "s/@@ //g;s/@@$//"]
    done = subprocess.run(command, input=f"{text}\n".encode(), capture_output=True, check=True)
    return done.stdout.decode()[:-1]


def write(folder, content, name="lexicon"):
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_lexicon_with_tabs_spaces_and_probabilities(tmp_path):
    text = "house Haus 0.9\nhouse Heim 0.1\n\ndog\tder Hund\t0.5\r\ndog\tHund\t0.6\ncat   Katze\n"
    expected = {"house": "Haus", "dog": "Hund", "cat": "Katze"}
    assert read_lexicon(write(tmp_path, text.encode())) == expected
    packed = gzip.compress(text.encode(), mtime=0)
    assert read_lexicon(write(tmp_path, packed, "lexicon.gz")) == expected


def test_best_translation_wins_in_any_order(tmp_path):
    path = write(tmp_path, b"a x -3.5\na y -0.5\na z -2\nb u\nb v\nc r 0.3\nc s 3e-1\n")
    assert read_lexicon(path) == {"a": "y", "b": "u", "c": "r"}


def test_lines_end_at_newlines_and_words_at_spaces_only(tmp_path):
    path = write(tmp_path, "a\u00a0b c\u2028d\n".encode())
    assert read_lexicon(path) == {"a\u00a0b": "c\u2028d"}


@pytest.mark.parametrize(
    "line", [b"alone", b"a b c", b"a b 0.5 x", b"a b nan", b"\xff b", b"a\tb c\td"]
)
def test_a_bad_line_is_named(tmp_path, line):
    path = write(tmp_path, b"a b\n" + line + b"\n")
    with pytest.raises(CgruError) as caught:
        read_lexicon(path)
    assert f"{path}:2: " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.gz", gzip.compress(b"a b\n" * 99, mtime=0)[:-9]),
        ("text.gz", b"a b\n"),
        ("missing/x", None),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for unreadable in (path, tmp_path):
        with pytest.raises(CgruError, match=str(unreadable)):
            read_lexicon(unreadable)
