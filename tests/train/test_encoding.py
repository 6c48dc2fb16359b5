"""The training text as ids."""

import dataclasses

import pytest
import runs
from corpora import rows

from cgru_cli.corpus.text_encoding import TextEncoding
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.encoding import encode
from cgru_cli.train.texts import Texts, read_vocabularies


@pytest.fixture
def data(tmp_path):
    return runs.prepared(tmp_path / "data")


def encoded(folder, cache, **options):
    texts = Texts.of(TrainOptions(), str(folder))
    encoding = TextEncoding(read_vocabularies(texts, ()))
    return encode(texts, encoding, TrainOptions(**options), cache)


def test_text_becomes_ids(data, tmp_path):
    corpus = encoded(data, tmp_path / "cache")
    assert len(corpus) == 60
    source = (data / "train.src").read_text().splitlines()
    target = (data / "train.trg").read_text().splitlines()
    for i in range(60):
        assert [runs.WORDS[n - 2] for n in corpus.columns["source"][i][:, 0]] == source[i].split()
        assert [runs.WORDS[n - 2].upper() for n in corpus.columns["target"][i]] == target[i].split()


def test_longer_pairs(data, tmp_path):
    longer = sum(len(line.split()) > 3 for line in (data / "train.src").read_text().splitlines())
    left_out = encoded(data, tmp_path / "a", max_length=3)
    assert (len(left_out), left_out.skipped["too long"]) == (60 - longer, longer)
    cut = encoded(data, tmp_path / "b", max_length=3, max_length_crop=True)
    assert (len(cut), cut.skipped["cut"], cut.lengths.max()) == (60, longer, 4)


def with_points(folder, tmp_path):
    """Four pairs of two words with alignments and weights of words, and their encoding."""
    runs.lines(folder / "train.src", ["w1 w2", "w3 w4", "w1 w4", "w2 w3"])
    runs.lines(folder / "train.trg", ["W1 W2", "W3 W4", "W1 W4", "W2 W3"])
    points = ["0-0 1-1", "0-1 1-0 2-2", "0-0", "1-1 2-1"]
    options = TrainOptions(
        guided_alignment=(str(runs.lines(tmp_path / "align", points)),),
        data_weighting=(str(runs.lines(tmp_path / "weights", [f"{i} 3 4" for i in range(4)])),),
        data_weighting_type="word",
    )
    texts = Texts.of(options, str(folder))
    return options, texts, TextEncoding(read_vocabularies(texts, ()))


def test_alignments_and_weights_of_variants(data, tmp_path):
    """Weights of words are dropped, because they count the words of the line as it stands."""
    options, texts, encoding = with_points(data, tmp_path)
    whole = encode(texts, encoding, options, tmp_path / "cache")
    varied = dataclasses.replace(options, all_caps_every=2)
    every = encode(texts, encoding, varied, tmp_path / "cache")
    fixed = encode(texts, encoding, dataclasses.replace(varied, compat="marian"), tmp_path / "fix")
    for epoch in range(3):
        of_epoch = rows(fixed.of_epoch(epoch).columns["source"])
        assert [row[0] == [1] for row in of_epoch[:3]] == [True, False, True]
    corpora = [every.of_epoch(0), every.of_epoch(1)]
    assert [len(c) for c in (*corpora, fixed)] == [4] * 3
    sources, weights = (
        [rows(c.columns[name]) for c in (whole, *corpora)] for name in ("source", "weights")
    )
    assert [source[:2] for source in sources] == [
        [[[3], [4]], [[5], [6]]], [[[1], [1]], [[5], [6]]], [[[3], [4]], [[1], [1]]],
    ]  # fmt: skip
    assert [w[:2] for w in weights[1:]] == [[[1, 1, 1], [1, 3, 4]], [[0, 3, 4], [1, 1, 1]]]
    for c in corpora:
        assert rows(c.columns["alignment"]) == rows(whole.columns["alignment"])
    counts = [c.target_counts(9).tolist() for c in (whole, *corpora)]
    assert counts[0] == counts[1] == counts[2] != every.target_counts(9).tolist()
    again = encode(texts, encoding, varied, tmp_path / "cache").of_epoch(1)
    assert rows(again.columns["target"]) == rows(corpora[1].columns["target"])
    rarer = encode(texts, encoding, dataclasses.replace(varied, all_caps_every=3), tmp_path / "3")
    assert len({c.fingerprints["training text"] for c in (whole, every, rarer)}) == 3


@pytest.mark.parametrize("right_left", [False, True])
def test_joined_pairs(data, tmp_path, right_left):
    """They keep alignments and weights; the end of the first sentence has none any more."""
    options, texts, encoding = with_points(data, tmp_path)
    options = dataclasses.replace(options, right_left=right_left)
    joined = dataclasses.replace(options, join_every=3)  # pair 1, with one before it
    corpus = encode(texts, encoding, joined, tmp_path / "cache").of_epoch(0)
    alone = encode(texts, encoding, options, tmp_path / "other")
    sources, targets = ([rows(c.columns[n]) for c in (alone, corpus)] for n in ("source", "target"))
    assert [list(map(len, target)) for target in targets] == [[2] * 4, [2, 4, 2, 2]]
    first, second = targets[0][:2]
    assert sources[1][1] == sources[0][0] + sources[0][1]
    assert targets[1][1] == (second + first if right_left else first + second)
    points = {(i, j) for i, j in corpus.columns["alignment"][1].tolist()}
    forwards = {(0, 0), (1, 1), (2, 3), (3, 2), (4, 4)}
    backwards = {(i, 3 - j if j < 4 else 4) for i, j in forwards}
    assert points == (backwards if right_left else forwards)
    weights = [3, 1, 3, 0, 4] if right_left else [0, 3, 1, 3, 4]
    assert corpus.columns["weights"][1].tolist() == weights
    short = dataclasses.replace(joined, max_length=3)
    cut = encode(texts, encoding, short, tmp_path / "short").of_epoch(0)
    assert cut.columns["target"].lengths()[:2].tolist() == [2, 2]


def test_variants_of_labels_are_refused(data, tmp_path):
    texts = Texts.of(TrainOptions(), str(data))
    encoding = TextEncoding(read_vocabularies(texts, ()), kind=Type.TAGGER)
    with pytest.raises(UsageError, match=r"--all-caps-every.* text without labels"):
        encode(texts, encoding, TrainOptions(all_caps_every=2), tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\n", "train.src has 60 lines and .*train.trg 1"),
        ("\n" * 60, "nothing is left of 60 lines"),
    ],
)
def test_text_that_is_refused(data, tmp_path, content, message):
    (data / "train.trg").write_text(content)
    with pytest.raises(CgruError, match=message):
        encoded(data, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("compat", "source", "target"),
    [("nematus", "a\tb", "A\x0bB\r"), ("dl4mt", "a\rb", "A\tB"),
     ("nematus-tf", "a\u00a0b", "A B\r"), ("marian", "a b\r", "A B\r")],
)  # fmt: skip
def test_words_and_line_ends_of_a_program(compat, source, target):
    source_words, target_words = (
        Vocabulary({"</s>": 0, "<unk>": 1, a: 2, b: 3}, "v.json") for a, b in ("ab", "AB")
    )
    encoding = TextEncoding([source_words, target_words], compat=compat)
    assert encoding.source_ids(source) == [(2,), (3,)] and encoding.target_ids(target) == [2, 3]
    native = TextEncoding([source_words, target_words])
    assert (1,) in native.source_ids(source) or 1 in native.target_ids(target)
