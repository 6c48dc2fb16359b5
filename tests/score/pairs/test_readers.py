"""Pairs read from two texts, from tabs, and from n-best lists."""

import gzip
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.parameters.program import reads_as
from cgru_cli.score.pairs.readers import NBestList, Pair, TabSeparated, Texts

LINE = st.text(st.characters(exclude_characters="\n\t\r", exclude_categories=["Cs"]), max_size=8)


def text(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def read(pairs, mini=2, maxi=3):
    with pairs:
        return [pair for window in pairs.windows(mini, maxi) for pair in window]


@given(st.lists(st.tuples(LINE, LINE), max_size=40))
def test_two_texts_are_paired_line_by_line(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("texts")
    source = text(folder / "s", [s for s, _ in lines])
    target = text(folder / "t", [t for _, t in lines])
    assert read(Texts([source], [target])) == [Pair(s, t) for s, t in lines]
    together = text(folder / "st", [f"{s}\t{t}" for s, t in lines])
    assert read(TabSeparated(together)) == [Pair(s, t) for s, t in lines]


def test_tabs_and_lists_are_read_as_by_the_program(tmp_path):
    tabs = text(tmp_path / "st", ["a\tb\r"])
    assert read(TabSeparated(tabs, reads_as("marian"))) == [Pair("a", "b")]
    entry, source = "0 ||| c\td ||| 1", text(tmp_path / "s", ["a\tb"])
    pairs = NBestList([source], text(tmp_path / "list", [entry]), reads_as("nematus"))
    assert read(pairs) == [Pair("a b", "c d", entry)]


def test_several_files_are_one_text(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"1\n2")  # the last line counts without a newline
    sources = [str(tmp_path / "a.gz"), text(tmp_path / "b", ["3"])]
    assert read(Texts(sources, [text(tmp_path / "t", "xyz")])) == [
        Pair("1", "x"),
        Pair("2", "y"),
        Pair("3", "z"),
    ]


@pytest.mark.parametrize("sources, targets", [(3, 2), (2, 3), (0, 1), (900, 901)])
def test_unequal_line_counts_are_refused_before_reading(tmp_path, sources, targets):
    source, target = (
        text(tmp_path / name, ["x"] * count) for name, count in (("s", sources), ("t", targets))
    )
    with pytest.raises(CgruError, match=rf"s has {sources} lines and .*t {targets};"):
        Texts([source], [target])


@pytest.mark.parametrize("sources, targets", [(3, 2), (2, 3), (30, 31)])
def test_unequal_line_counts_of_pipes_are_refused_at_the_end(tmp_path, sources, targets):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    if (child := os.fork()) == 0:
        with open(fifo, "w") as file:
            file.write("x\n" * sources)
        os._exit(0)
    pairs = Texts([str(fifo)], [text(tmp_path / "t", ["y"] * targets)])
    with pytest.raises(CgruError, match=rf"pipe has {sources} lines and .*t {targets};"):
        read(pairs)
    os.waitpid(child, 0)


def test_line_without_its_tab_is_refused(tmp_path):
    with pytest.raises(CgruError, match="line 2: 1 fields separated by tabs"):
        read(TabSeparated(text(tmp_path / "st", ["a\tb", "a b", "a\tb"])))


def test_hypotheses_have_the_source_of_their_number(tmp_path):
    source = text(tmp_path / "s", ["zero", "one", "two", "three"])
    entries = [
        "0 ||| a b ||| F0= -1 ||| -1",
        "0 ||| c ||| F0= -2 ||| -2",
        "2 |||  ||| x",
        "3 ||| d",
    ]
    pairs = read(NBestList([source], text(tmp_path / "n", entries)))
    assert [(p.source, p.target) for p in pairs] == [
        ("zero", "a b"),
        ("zero", "c"),
        ("two", ""),
        ("three", "d"),
    ]
    assert [p.entry for p in pairs] == entries


@pytest.mark.parametrize(
    "entries, message",
    [
        (["0 ||| a", "2 ||| b"], "line 2: hypothesis of sentence 2, but .* has 2 lines"),
        (["1 ||| a", "0 ||| b"], "line 2: hypothesis of sentence 0 after sentence 1"),
        (["a b c"], "line 1: not an entry"),
        (["0 ||| a", "", "1 ||| b"], "line 2: not an entry"),
        (["-1 ||| a"], "line 1: not an entry"),
    ],
)
def test_invalid_lists_are_refused(tmp_path, entries, message):
    source = text(tmp_path / "s", ["zero", "one"])
    with pytest.raises(CgruError, match=message):
        read(NBestList([source], text(tmp_path / "n", entries)))


@pytest.mark.parametrize("kind", ["tabs", "list", "texts"])
def test_pairs_before_a_bad_line_are_read(tmp_path, kind):
    if kind == "tabs":
        pairs = TabSeparated(text(tmp_path / "st", [*["a\tb"] * 5, "bad", "a\tb"]))
    elif kind == "list":
        source, entries = text(tmp_path / "s", ["a"]), [*["0 ||| b"] * 5, "bad", "0 ||| b"]
        pairs = NBestList([source], text(tmp_path / "n", entries))
    else:
        with gzip.open(tmp_path / "t.gz", "wb") as file:
            file.write(b"b\n" * 7)
        child, pipe = fifo(tmp_path / "t.gz")
        pairs = Texts([text(tmp_path / "s", "aaaaa")], [pipe])
    seen = []
    with pairs, pytest.raises(CgruError):
        for window in pairs.windows(10, 10):
            seen += window
    assert [(pair.source, pair.target) for pair in seen] == [("a", "b")] * 5
    if kind == "texts":
        os.waitpid(child, 0)


def fifo(path):
    """The bytes of a file as a pipe, whose lines cannot be counted: (writer's process, path)."""
    pipe = path.with_name("fifo.gz")
    os.mkfifo(pipe)
    if (child := os.fork()) == 0:
        with open(pipe, "wb") as file:
            file.write(path.read_bytes())
        os._exit(0)
    return child, str(pipe)


def test_a_list_is_not_taken_for_sentences(tmp_path):
    entries = ["0 ||| A B ||| -1.5", "1 ||| A ||| F0= -2 ||| -2"]
    source, listed = text(tmp_path / "s", ["a", "b"]), text(tmp_path / "list", entries)
    for pairs in (Texts([source], [listed]), Texts([], [listed])):
        with pytest.raises(CgruError, match="list: line 1 is an entry of an n-best list"):
            read(pairs)
    bars = text(tmp_path / "bars", ["0 || A ||| B", "||| 1 |||"])
    assert len(read(Texts([source], [bars]))) == 2
