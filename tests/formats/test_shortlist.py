"""Shortlists: the words that Marian chooses, its binary files, and invalid files."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats.shortlist import Shortlist, union
from cgru_cli.text.vocabulary import Vocabulary

SOURCE = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *(f"s{i}" for i in range(20))])})
TARGET = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *(f"t{i}" for i in range(41))])})


def write(path, entries):
    path.write_text("".join(f"{t} {s} {p!r}\n" for t, s, p in entries))
    return str(path)


def as_marian(entries, sources, first, best, prune, shared=None):
    """The words that Marian's LexicalShortlistGenerator chooses, computed with dictionaries."""
    source, target = (SOURCE, TARGET) if shared is None else (shared, shared)
    table = {}
    for t, s, p in entries:
        s_id, t_id = source.ids.get(s, 1), target.ids.get(t, 1)
        table.setdefault(s_id, {})[t_id] = np.float32(p)
    chosen = set(range(min(first, target.size))) | {0}
    for word in sources:
        pairs = sorted(((p, t) for t, p in table.get(word, {}).items()), reverse=True)
        chosen |= {t for p, t in pairs[:best] if p > prune}
        if shared is not None:
            chosen.add(word)
    i = first
    while len(chosen) % 8 and i < target.size:
        chosen.add(i)
        i += 1
    return sorted(chosen)


WORDS = st.integers(0, 44)
ENTRIES = st.lists(
    st.tuples(
        WORDS.map("t{}".format),
        st.integers(0, 22).map("s{}".format),
        st.sampled_from((0.0, 1e-4, 0.1, 0.25, 0.5, 0.7)),
    ),
    max_size=60,
).map(lambda entries: [("t0", "s0", 0.2), *entries])


@given(
    ENTRIES,
    st.lists(st.integers(0, 21)),
    st.integers(0, 50),
    st.integers(0, 6),
    st.sampled_from((0.0, 0.1, 0.3)),
)
def test_marian_chooses_the_same_words(tmp_path_factory, entries, sources, first, best, prune):
    path = write(tmp_path_factory.getbasetemp() / "lex.s2t", entries)
    found = Shortlist.read(path, SOURCE, TARGET, first, best, prune)
    expected = as_marian(entries, sources, first, best, prune)
    assert found.of_words(sources).tolist() == expected


def test_source_words_are_allowed_where_both_sides_share_a_vocabulary(tmp_path):
    entries = [("t3", "t9", 0.5)]
    found = Shortlist.read(write(tmp_path / "lex", entries), TARGET, TARGET, 8, 2)
    assert found.of_words([11, 30]).tolist() == as_marian(entries, [11, 30], 8, 2, 0, TARGET)
    assert {11, 30, 5} <= set(found.of_words([11, 30]).tolist())


def test_an_ensemble_allows_the_words_of_all_models(tmp_path):
    one, two = (
        Shortlist.read(write(tmp_path / "lex", entries), SOURCE, TARGET, 4, 2)
        for entries in ([("t20", "s0", 1.0)], [("t30", "s1", 1.0)])
    )
    assert {22, 32} <= set(union([one, two], [[2], [3]]).tolist())


def test_null_is_not_a_word(tmp_path):
    entries = [("t9", "s1", 1.0)]
    nobody = [("t30", "NULL", 1.0), ("NULL", "s1", 1.0)]
    with_nobody, without = (
        Shortlist.read(write(tmp_path / "lex", lines), SOURCE, TARGET, 8, 9)
        for lines in (nobody + entries, entries)
    )
    for words in ([1], [3], [1, 3]):
        assert with_nobody.of_words(words).tolist() == without.of_words(words).tolist()


# -- binary files ----------------------------------------------------------------------------------


def binary(lists, first=8, size=22):
    """A file as `marian-conv` writes it, from lists of target ids by source id."""
    offsets = np.cumsum([0, *(len(lists.get(i, ())) for i in range(size))]).astype("<u8")
    targets = np.array([t for i in range(size) for t in sorted(lists.get(i, ()))], "<u4")
    body = struct.pack("<4Q", first, 100, len(offsets), len(targets))
    body += offsets.tobytes() + targets.tobytes()
    seed = 0
    for (word,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        seed = (seed ^ (word + 0x9E3779B9 + (seed << 6) + (seed >> 2))) % 2**64
    return struct.pack("<QQ", 0xF11A48D5013417F5, seed) + body


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_binary_file_gives_the_same_shortlist_as_its_table(tmp_path, compress):
    entries = [("t9", "s0", 0.4), ("t30", "s0", 0.2), ("t40", "s4", 0.9)]
    text = Shortlist.read(write(tmp_path / "lex", entries), SOURCE, TARGET, 8)
    path = tmp_path / "lex.bin"
    path.write_bytes(compress(binary({2: [32, 11], 6: [42]})))
    found = Shortlist.read(str(path), SOURCE, TARGET)
    for words in ([2], [6], [2, 6, 6], [], [1, 0, 21]):
        assert found.of_words(words).tolist() == text.of_words(words).tolist()


def damaged(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


GOOD = binary({2: [32, 11], 6: [42]})


@each_row(
    ("content", "problem"),
    [
        (b"", "an empty shortlist"),
        (b"t0 s0 0.5\nt1 s1\n", ":2: expected `target source probability`"),
        (b"t0 s0 0.5 1\n", ":1: expected"),
        (b"t0 s0 much\n", ":1: expected"),
        (b"t0 s0 nan\n", ":1: expected"),
        (b"t0 s0 -0.5\n", ":1: expected"),
        (b"s0 t0 0.5\ns1 t1 0.5\n", "has the target word first"),
        (b"A a 0.5\nB b 0.5\n", "none of its 2 lines"),
        (gzip.compress(b"t0 s0 0.5\n" * 99, mtime=0)[:-9], "not a complete gzip file"),
        (GOOD[:20], "ends in its header"),
        (GOOD[:-4], "its header says"),
        (damaged(GOOD, 60), "checksum"),
        (binary({2: [32]}, size=23), "23 source words, the vocabulary has 22"),
        (binary({2: [43]}), "target word 43, the vocabulary ends at 42"),
        (struct.pack("<i", 1234567890) + b"x", "another program"),
        (b"\xff\xfe\x00\x00", ":1: expected"),
    ],
)
def test_invalid_files(tmp_path, content, problem):
    (tmp_path / "lex").write_bytes(content)
    with pytest.raises(CgruError, match=problem) as error:
        Shortlist.read(str(tmp_path / "lex"), SOURCE, TARGET)
    assert str(tmp_path / "lex") in str(error.value) and "\n" not in str(error.value)


def test_the_checksum_can_be_skipped_but_offsets_are_checked(tmp_path, capsys):
    path = tmp_path / "lex.bin"
    path.write_bytes(damaged(GOOD, 8))
    assert Shortlist.read(str(path), SOURCE, TARGET, first=0).first == 8
    assert "a binary shortlist, which has its own numbers" in capsys.readouterr().err
    path.write_bytes(damaged(GOOD, 48 + 8 * 3))
    with pytest.raises(CgruError, match="its offsets"):
        Shortlist.read(str(path), SOURCE, TARGET, first=0)


def test_a_warning_for_a_table_of_mostly_unknown_words(tmp_path, capsys):
    path = write(tmp_path / "lex", [("t1", "s1", 0.5), *((f"x{i}", "y", 0.1) for i in range(20))])
    Shortlist.read(path, SOURCE, TARGET)
    assert "only 1 of its 21 lines" in capsys.readouterr().err
