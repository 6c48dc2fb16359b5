"""The training text as ids."""

import dataclasses

import pytest
import runs

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.train.encoding import TextEncoding, encode
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
        assert [runs.WORDS[n - 2] for n in corpus.source(i)[:, 0]] == source[i].split()
        assert [runs.WORDS[n - 2].upper() for n in corpus.target(i)] == target[i].split()


def test_longer_pairs(data, tmp_path):
    longer = sum(len(line.split()) > 3 for line in (data / "train.src").read_text().splitlines())
    left_out = encoded(data, tmp_path / "a", max_length=3)
    assert (len(left_out), left_out.skipped["too long"]) == (60 - longer, longer)
    cut = encoded(data, tmp_path / "b", max_length=3, max_length_crop=True)
    assert (len(cut), cut.skipped["cut"], cut.lengths.max()) == (60, longer, 4)


def test_alignments_and_weights_of_variants(data, tmp_path):
    """They are dropped, because they count the words of the line as it stands."""
    runs.lines(data / "train.src", ["w1 w2"] * 4)
    runs.lines(data / "train.trg", ["W1 W2"] * 4)
    options = TrainOptions(
        guided_alignment=(str(runs.lines(tmp_path / "align", ["0-0 1-1"] * 4)),),
        data_weighting=(str(runs.lines(tmp_path / "weights", ["2 3 4"] * 4)),),
        data_weighting_type="word",
    )
    texts = Texts.of(options, str(data))
    encoding = TextEncoding(read_vocabularies(texts, ()))
    whole = encode(texts, encoding, options, tmp_path / "cache")
    varied = dataclasses.replace(options, all_caps_every=2)
    corpus = encode(texts, encoding, varied, tmp_path / "cache")
    assert corpus.fingerprint != whole.fingerprint
    assert corpus.source(0).tolist() == [[1], [1]] != corpus.source(1).tolist() == [[3], [4]]
    points = corpus.alignments.matrix([0, 1], (2, 3, 3)).sum(axis=(1, 2))
    assert points.tolist() == [0, 2]
    assert [corpus.weights.of_pair(n, 3).tolist() for n in (0, 1)] == [[1, 1, 1], [2, 3, 4]]


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
