"""Alignments and weights in a corpus are kept, cut and left out with their pairs."""

import gzip
import itertools
import os

import pytest
from corpora import Encoder, encoded, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.corpus import parallel_files
from cgru_cli.corpus.corpus import MANIFEST
from cgru_cli.corpus.parallel_files import Files
from cgru_cli.errors import CgruError
from cgru_cli.text.line_variants import Variants


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def files(folder, factor=None, **lines):
    """The files of these lines: source, target, alignment, weight."""
    paths = {name: write(folder / name, some) for name, some in lines.items() if some != ()}
    return Files(**{"source": None} | paths, factor=factor)


def encode(folder, source, target, alignments=(), weights=(), factor=None, **rules):
    """One pair of files."""
    sides = {"source": source, "target": target, "alignment": alignments, "weight": weights}
    return encoded(folder / "cache", files(folder, factor, **sides), **rules)


def points(corpus):
    return rows(corpus.columns["alignment"])


def weights(corpus):
    return rows(corpus.columns["weights"])


def test_alignments_and_weights_come_back_in_order(tmp_path):
    corpus = encode(tmp_path, ["5 6", "7", "8"], ["1", "2 3", "4"], ["1-0 0-0", "", "1-1"],
                    ["1", "0.5", "2e3"])  # fmt: skip
    assert points(corpus) == [[[0, 0], [1, 0]], [], [[1, 1]]]
    assert weights(corpus) == [[1], [0.5], [2000]]
    corpus = encode(tmp_path, ["5 6", "7"], ["1", "2 3"], (), ["3 0", "1 2"], by_word=True)
    assert "alignment" not in corpus.columns
    assert weights(corpus) == [[3, 0], [1, 2, 1]]


@pytest.mark.parametrize("crop", [False, True])
def test_targets_from_the_end(tmp_path, crop):
    """Alignments and weights of words are reversed, too, before the cut; those of EOS stay."""
    reverses = {"reverses": "target", "max_length": 2 if crop else 9, "crop": crop}
    corpus = encode(
        tmp_path, ["5 6"], ["1 2 3"], ["0-0 1-1 2-3"], ["7 8 9 4"], by_word=True, **reverses
    )
    assert rows(corpus.columns["target"]) == [[3, 2] if crop else [3, 2, 1]]
    assert weights(corpus) == [[9, 8, 4] if crop else [9, 8, 7, 4]]
    assert points(corpus) == [[[1, 1]] if crop else [[0, 2], [1, 1], [2, 3]]]
    of_sentence = encode(tmp_path, ["5 6"], ["1 2 3"], (), ["7"], reverses="target")
    assert weights(of_sentence) == [[7]]


def test_both_sides_from_the_end(tmp_path):
    """As in Marian: cut first, then reversed, with alignments and weights."""
    lines = (["5 6 7"], ["1 2 3"], ["0-0 1-0 2-2 3-3"], ["7 8 9 4"])
    for limit, source, target, aligned, weighed in (
        (9, [7, 6, 5], [3, 2, 1], [[0, 0], [1, 2], [2, 2], [3, 3]], [9, 8, 7, 4]),
        (2, [6, 5], [2, 1], [[0, 1], [1, 1]], [8, 7, 4]),
    ):
        rules = {"max_length": limit, "crop": True, "by_word": True, "reverses": "both"}
        corpus = encode(tmp_path, *lines, **rules)
        assert rows(corpus.columns["source"]) == [[[i] for i in source]]
        assert rows(corpus.columns["target"]) == [target]
        assert points(corpus) == [aligned] and weights(corpus) == [weighed]


def test_text_alone_has_neither(tmp_path):
    corpus = encode(tmp_path, ["5"], ["1"])
    assert corpus.columns.keys() == {"source", "target"}


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
            encoder=Encoder(fingerprint=os.urandom(8).hex()),
            max_length=limit, crop=crop, by_word=by_word, factor=2.0,
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
    first = files(tmp_path, 0.5, source=["1", "2"], target=["4", "5"], alignment=["0-0", ""])
    second = (write(tmp_path / "s2", ["3"]), write(tmp_path / "t2", ["6"]), tmp_path / "a2.gz")
    corpus = encoded(tmp_path / "cache", first, Files(*second, factor=3.0))
    assert points(corpus) == [[[0, 0]], [], [[0, 1]]]
    assert weights(corpus) == [[0.5], [0.5], [3.0]]


def test_weights_of_a_target_alone(tmp_path):
    lines = {"target": ["1 2", "", "3"], "weight": ["1 2", "", "3 4"]}
    encoder = Encoder(factors=0)
    corpus = encoded(tmp_path / "cache", files(tmp_path, **lines), encoder=encoder, by_word=True)
    assert weights(corpus) == [[1, 2, 1], [3, 4]]


@pytest.mark.parametrize(
    ("alignments", "weights", "message"),
    [
        (["0-0", "0-0", "2-0"], (), "/alignment: line 3: 2-0 points beyond the sentence"),
        (["0-0", "x", "0-0"], (), "/alignment: line 2: 'x' is not an alignment"),
        (
            ["0-0"],
            (),
            "/alignment has 1 lines and .*/target 3; line i of one must belong to line i",
        ),
        (["0-0"] * 4, (), "/alignment has 4 lines and .*/target 3;"),
        ((), ["1", "-1", "1"], "/weight: line 2: -1 is not a weight"),
        ((), ["1", "1", "1 2"], "/weight: line 3: 2 numbers; one is expected"),
        ((), ["1", "1"], "/weight has 2 lines and .*/target 3;"),
        (["0-0"] * 3, ["1"] * 9, "/weight has 9 lines and .*/target 3;"),
    ],
)
def test_one_line_names_file_and_line(tmp_path, monkeypatch, alignments, weights, message):
    monkeypatch.setattr(parallel_files, "CHUNK", 2)
    with pytest.raises(CgruError, match=message):
        encode(tmp_path, ["5"] * 3, ["1"] * 3, alignments, weights)
    assert list((tmp_path / "cache").iterdir()) == []


def test_texts_of_different_lengths_are_named_first(tmp_path):
    with pytest.raises(CgruError, match=r"/source has 2 lines and .*/target 3; .* must belong"):
        encode(tmp_path, ["5"] * 2, ["1"] * 3, ["0-0"] * 2)


def test_warning_of_words_counted_from_one(tmp_path, capsys):
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["1-1", "1-1 2-2"])
    assert "/alignment: no first word is aligned to anything" in capsys.readouterr().err
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["1-1", "1-1 0-2"])
    encode(tmp_path, ["5", "6 7"], ["1", "2 3"], ["", ""])
    assert capsys.readouterr().err == ""


def test_cache_depends_on_all_files(tmp_path):
    """Any change leads to a new encoding; without a change nothing is read."""
    lines = {"source": ["5 6", "7"], "target": ["1", "2"], "alignment": ["0-0", "0-0"]}
    names = files(tmp_path, **lines, weight=["1", "2"])
    first = encoded(tmp_path / "cache", names)
    manifest = tmp_path / "cache" / MANIFEST
    times = {path: os.stat(path).st_mtime_ns for path in names[:4]}

    def again(**more):
        for path, time in times.items():
            os.utime(path, ns=(time, time))
        before = manifest.stat().st_mtime_ns
        corpus = encoded(tmp_path / "cache", names._replace(**more))
        return corpus, manifest.stat().st_mtime_ns == before

    same, kept = again()
    assert kept
    assert (points(same), weights(same)) == (points(first), weights(first))
    for path in names[2:4]:
        times[path] += 1
        assert not again()[1]
    for more in ({"factor": 2.0}, {"alignment": None}, {"weight": None}):
        corpus, kept = again(**more)
        assert not kept
        (folder,) = (path for path in manifest.parent.iterdir() if path.is_dir())
        assert len(list(folder.iterdir())) == 2 * len(corpus.columns)


def test_fingerprints_depend_on_the_content(tmp_path):
    """Equal content has equal fingerprints; the text's does not depend on the others."""
    text = ["5 6", "7"], ["1", "2"]

    def prints(*more, **factor):
        fingerprints = encode(tmp_path, *text, *more, **factor).fingerprints
        return [fingerprints[name] for name in ("training text", "alignments", "weights")]

    plain_text = prints()
    both = prints(["0-0", "0-0 1-1"], ["1", "2"])
    assert prints(["0-0", "1-1 0-0"], ["1.0", "2e0"]) == both
    assert prints(["0-0", "0-0 1-1"], ["0.5", "1"], factor=2.0) == both
    assert plain_text == [both[0], "none", "none"]
    others = [
        both,
        prints(["0-0 1-1", "0-0"], ["1", "2.5"]),
        prints(["0-0 0-1", "1-1"], ["2", "1"]),
        prints(["", "0-0 1-1"], ["1", "2"], factor=2.0),
    ]
    for place in (1, 2):
        assert len({one[place] for one in others}) == 4
    assert len(set(itertools.chain(*others))) == 9


@pytest.mark.parametrize(
    ("source", "every", "prints"),
    [
        (["5 70000", "7"], 0, ("63a93b4b", "bca5458f", "cac3454e")),
        ((), 0, ("c1c3be70", "none", "edfd40fe")),
        (["5 70000", "7"], 2, ("4dbb28f7", "244ee5dc", "d64c083e")),
    ],
)
def test_fingerprints_are_those_of_earlier_versions(tmp_path, source, every, prints):
    """Otherwise their runs would not resume."""
    points = ["0-0 1-0", "0-1"] if source else ()
    encoder = Encoder(factors=1 if source else 0)
    variants = Variants((every, 0, 0, 0, 0))
    corpus = encode(
        tmp_path, source, ["1", "2 3"], points, ["0.5 1", "2 3"],
        encoder=encoder, by_word=True, variants=variants,
    )  # fmt: skip
    shown = [corpus.fingerprints[name][:8] for name in ("training text", "alignments", "weights")]
    assert tuple(shown) == prints
