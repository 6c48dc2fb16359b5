"""Alignments and weights in a corpus are kept, cut and left out with their pairs."""

import gzip
import itertools
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.corpus import parallel_files
from cgru_cli.corpus.corpus import MANIFEST, encode_corpus
from cgru_cli.corpus.parallel_files import Beside
from cgru_cli.errors import CgruError


def plain(line):
    return [int(word) for word in line.split()]


def single(line):
    return [(int(word),) for word in line.split()]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def encode(folder, source, target, alignments=(), weights=(), key="k", limit=100, **more):
    """One pair of files; more: crop, by_word, domains."""
    beside = Beside(
        tuple(write(folder / "a", lines) for lines in [alignments] if lines),
        tuple(write(folder / "w", lines) for lines in [weights] if lines),
        more.get("by_word", False),
        more.get("domains", ()),
    )
    return encode_corpus(
        [write(folder / "s", source)], [write(folder / "t", target)], single, plain,
        folder / "cache", max_length=limit, crop=more.get("crop", False), key=key, beside=beside,
    )  # fmt: skip


def points(corpus):
    return [corpus.alignments.points(i).tolist() for i in range(len(corpus))]


def weights(corpus):
    return [corpus.weights.of_pair(i, corpus.lengths[i, 1]).tolist() for i in range(len(corpus))]


def test_alignments_and_weights_come_back_in_order(tmp_path):
    corpus = encode(tmp_path, ["5 6", "7", "8"], ["1", "2 3", "4"], ["1-0 0-0", "", "1-1"],
                    ["1", "0.5", "2e3"])  # fmt: skip
    assert points(corpus) == [[[0, 0], [1, 0]], [], [[1, 1]]]
    assert weights(corpus) == [[1], [0.5], [2000]]
    assert corpus.alignments.count == 3
    corpus = encode(tmp_path, ["5 6", "7"], ["1", "2 3"], (), ["3 0", "1 2"], by_word=True)
    assert corpus.alignments is None
    assert weights(corpus) == [[3, 0], [1, 2, 1]]


@pytest.mark.parametrize("crop", [False, True])
def test_targets_from_the_end(tmp_path, crop):
    """Alignments and weights of words are reversed, too, before the cut; those of EOS stay."""
    files = [write(tmp_path / name, [line]) for name, line in
             (("s", "5 6"), ("t", "1 2 3"), ("a", "0-0 1-1 2-3"), ("w", "7 8 9 4"))]  # fmt: skip
    corpus = encode_corpus(
        files[:1], files[1:2], single, lambda line: plain(line)[::-1], tmp_path / "cache",
        max_length=2 if crop else 9, crop=crop, key="k",
        beside=Beside((files[2],), (files[3],), by_word=True, from_end=True),
    )  # fmt: skip
    assert corpus.target(0).tolist() == ([3, 2] if crop else [3, 2, 1])
    assert weights(corpus) == [[9, 8, 4] if crop else [9, 8, 7, 4]]
    assert points(corpus) == [[[1, 1]] if crop else [[0, 2], [1, 1], [2, 3]]]
    of_sentence = encode_corpus(
        files[:1], files[1:2], single, plain, tmp_path / "cache", max_length=9, crop=False,
        key="k", beside=Beside((), (write(tmp_path / "w", ["7"]),), from_end=True),
    )  # fmt: skip
    assert weights(of_sentence) == [[7]]


def test_both_sides_from_the_end(tmp_path):
    """As in Marian: cut first, then reversed, with alignments and weights."""
    texts = {"s": "5 6 7", "t": "1 2 3", "a": "0-0 1-0 2-2 3-3", "w": "7 8 9 4"}
    files = [write(tmp_path / name, [line]) for name, line in texts.items()]
    for limit, source, target, aligned, weighed in (
        (9, [7, 6, 5], [3, 2, 1], [[0, 0], [1, 2], [2, 2], [3, 3]], [9, 8, 7, 4]),
        (2, [6, 5], [2, 1], [[0, 1], [1, 1]], [8, 7, 4]),
    ):
        corpus = encode_corpus(
            files[:1], files[1:2], single, plain, tmp_path / "cache", max_length=limit, crop=True,
            key="k", beside=Beside((files[2],), (files[3],), by_word=True, both_from_end=True),
        )  # fmt: skip
        assert corpus.source(0)[:, 0].tolist() == source and corpus.target(0).tolist() == target
        assert points(corpus) == [aligned] and weights(corpus) == [weighed]


def test_text_alone_has_neither(tmp_path):
    corpus = encode(tmp_path, ["5"], ["1"])
    assert (corpus.alignments, corpus.weights) == (None, None)


lines = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).flatmap(
        lambda sizes: st.tuples(
            st.just(sizes),
            st.sets(st.tuples(st.integers(0, sizes[0]), st.integers(0, sizes[1]))),
            st.lists(st.integers(0, 9), min_size=sizes[1] + 1, max_size=sizes[1] + 1),
        )
    ),
    max_size=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines, st.integers(1, 5), st.booleans(), st.booleans())
def test_alignments_and_weights_stay_with_their_pair(tmp_path, pairs, limit, crop, by_word):
    """Left out, cut, or whole; written from the definition."""
    expected = []
    for (s, t), aligned, numbers in pairs:
        if not s or not t or (max(s, t) > limit and not crop):
            continue
        kept = [
            [i, j]
            for i, j in sorted(aligned)
            if (i < limit or i <= s <= limit) and (j < limit or j <= t <= limit)
        ]
        of_words = numbers[:-1][:limit] + numbers[-1:]
        expected.append((kept, [2.0 * n for n in (of_words if by_word else numbers[:1])]))
    monkey = pytest.MonkeyPatch()
    monkey.setattr(parallel_files, "CHUNK", 4)
    try:
        corpus = encode(
            tmp_path,
            ["7 " * s for (s, _), _, _ in pairs],
            ["8 " * t for (_, t), _, _ in pairs],
            [" ".join(f"{i}-{j}" for i, j in aligned) for _, aligned, _ in pairs],
            [" ".join(map(str, numbers if by_word else numbers[:1])) for _, _, numbers in pairs],
            key=os.urandom(8).hex(), limit=limit, crop=crop, by_word=by_word, domains=(2.0,),
        )  # fmt: skip
    except CgruError as error:
        assert not expected, error
        return
    finally:
        monkey.undo()
    assert list(zip(points(corpus), weights(corpus), strict=True)) == expected


def test_several_files_and_domains(tmp_path):
    with gzip.open(tmp_path / "a2.gz", "wt") as file:
        file.write("0-1\n")
    corpus = encode_corpus(
        [write(tmp_path / "s1", ["1", "2"]), write(tmp_path / "s2", ["3"])],
        [write(tmp_path / "t1", ["4", "5"]), write(tmp_path / "t2", ["6"])],
        single, plain, tmp_path / "cache", max_length=9, crop=False, key="k",
        beside=Beside((write(tmp_path / "a1", ["0-0", ""]), tmp_path / "a2.gz"),
                      domains=(0.5, 3.0)),
    )  # fmt: skip
    assert points(corpus) == [[[0, 0]], [], [[0, 1]]]
    assert weights(corpus) == [[0.5], [0.5], [3.0]]


def test_weights_of_a_target_alone(tmp_path):
    corpus = encode_corpus(
        (), [write(tmp_path / "t", ["1 2", "", "3"])], single, plain, tmp_path / "cache",
        max_length=9, crop=False, key="k",
        beside=Beside(weights=(write(tmp_path / "w", ["1 2", "", "3 4"]),), by_word=True),
    )  # fmt: skip
    assert weights(corpus) == [[1, 2, 1], [3, 4]]


@pytest.mark.parametrize(
    ("alignments", "weights", "message"),
    [
        (["0-0", "0-0", "2-0"], (), "/a: line 3: 2-0 points beyond the sentence"),
        (["0-0", "x", "0-0"], (), "/a: line 2: 'x' is not an alignment"),
        (["0-0"], (), "/a has 1 lines and .*/t 3; line i of one must belong to line i"),
        (["0-0"] * 4, (), "/a has 4 lines and .*/t 3;"),
        ((), ["1", "-1", "1"], "/w: line 2: -1 is not a weight"),
        ((), ["1", "1", "1 2"], "/w: line 3: 2 numbers; one is expected"),
        ((), ["1", "1"], "/w has 2 lines and .*/t 3;"),
        (["0-0"] * 3, ["1"] * 9, "/w has 9 lines and .*/t 3;"),
    ],
)
def test_one_line_names_file_and_line(tmp_path, monkeypatch, alignments, weights, message):
    monkeypatch.setattr(parallel_files, "CHUNK", 2)
    with pytest.raises(CgruError, match=message):
        encode(tmp_path, ["5"] * 3, ["1"] * 3, alignments, weights)
    assert list((tmp_path / "cache").iterdir()) == []


def test_texts_of_different_lengths_are_named_first(tmp_path):
    with pytest.raises(CgruError, match=r"/s has 2 lines and .*/t 3; .* must belong"):
        encode(tmp_path, ["5"] * 2, ["1"] * 3, ["0-0"] * 2)


def test_warning_of_words_counted_from_one(tmp_path, capsys):
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["1-1", "1-1 2-2"])
    assert "/a: no first word is aligned to anything" in capsys.readouterr().err
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["1-1", "1-1 0-2"])
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["", ""])
    assert capsys.readouterr().err == ""


def test_cache_depends_on_all_files(tmp_path):
    """Any change leads to a new encoding; without a change nothing is read."""
    given_first = (["5 6", "7"], ["1", "2"], ["0-0", "0-0"], ["1", "2"])
    first = encode(tmp_path, *given_first)
    manifest = tmp_path / "cache" / MANIFEST
    files = ("s", "t", "a", "w")
    times = {name: os.stat(tmp_path / name).st_mtime_ns for name in files}

    def again(**more):
        for name, time in times.items():
            os.utime(tmp_path / name, ns=(time, time))
        before = manifest.stat().st_mtime_ns
        corpus = encode_corpus(
            [tmp_path / "s"], [tmp_path / "t"], single, plain, tmp_path / "cache",
            max_length=100, crop=False, key="k",
            beside=Beside(**{"alignments": (tmp_path / "a",), "weights": (tmp_path / "w",)} | more),
        )  # fmt: skip
        return corpus, manifest.stat().st_mtime_ns == before

    same, kept = again()
    assert kept
    assert (points(same), weights(same)) == (points(first), weights(first))
    for name in ("a", "w"):
        times[name] += 1
        assert not again()[1]
    for more in ({"domains": (2.0,)}, {"alignments": ()}, {"weights": ()}):
        assert not again(**more)[1]
        assert (
            len(json.loads(manifest.read_text())["files"]) == len(os.listdir(manifest.parent)) - 1
        )


def test_fingerprints_depend_on_the_content(tmp_path):
    """Equal content has equal fingerprints; the text's does not depend on the others."""
    text = ["5 6", "7"], ["1", "2"]

    def prints(*beside, **more):
        corpus = encode(tmp_path, *text, *beside, **more)
        parts = (corpus.alignments, corpus.weights)
        return corpus.fingerprint, *(part and part.fingerprint for part in parts)

    plain_text = prints()
    both = prints(["0-0", "0-0 1-1"], ["1", "2"])
    assert prints(["0-0", "1-1 0-0"], ["1.0", "2e0"]) == both
    assert prints(["0-0", "0-0 1-1"], ["0.5", "1"], domains=(2.0,)) == both
    assert {plain_text[0]} == {both[0]} and plain_text[1:] == (None, None)
    others = [
        both,
        prints(["0-0 1-1", "0-0"], ["1", "2.5"]),
        prints(["0-0 0-1", "1-1"], ["2", "1"]),
        prints(["", "0-0 1-1"], ["1", "2"], domains=(2.0,)),
    ]
    for place in (1, 2):
        assert len({found[place] for found in others}) == 4
    assert len(set(itertools.chain(*others))) == 9
