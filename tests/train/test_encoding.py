"""The training text as ids."""

import pytest
import runs

from cgru_cli.errors import CgruError
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.encoding import TextEncoding, encode
from cgru_cli.train.texts import Texts, read_vocabularies


@pytest.fixture
def data(tmp_path):
    return runs.prepared(tmp_path / "data")


def encoded(folder, cache, *, max_length=100, crop=False):
    texts = Texts.of(TrainOptions(), str(folder))
    encoding = TextEncoding(read_vocabularies(texts, ()))
    return encode(texts, encoding, cache, max_length=max_length, crop=crop)


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
    cut = encoded(data, tmp_path / "b", max_length=3, crop=True)
    assert (len(cut), cut.skipped["cut"], cut.lengths.max()) == (60, longer, 4)


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
