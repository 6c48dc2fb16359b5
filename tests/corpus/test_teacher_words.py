"""The file of a teacher's words: written and read again, and refused where it does not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.corpus.columns import GrowingArray
from cgru_cli.corpus.teacher_words import (
    ENTRY,
    entries,
    from_the_end,
    read,
    words_and_shares,
)
from cgru_cli.errors import CgruError


def written(path, ids, log_probs, parts=1):
    with open(path, "wb") as file:
        writer = GrowingArray(file, ENTRY, ids.shape[1:])
        for some, of_them in zip(
            np.array_split(ids, parts), np.array_split(log_probs, parts), strict=True
        ):
            writer.append(entries(some, of_them))
        writer.close()
    return path


def test_words_come_back_with_probabilities_that_sum_to_1(tmp_path):
    rng = np.random.default_rng(1)
    ids = rng.integers(100_000, size=(200, 8)).astype(np.int32)
    ids[0, 0] = 99_999
    probabilities = rng.dirichlet(np.ones(9), size=200)[:, :8]
    path = written(tmp_path / "t.npy", ids, np.log(probabilities), parts=7)
    assert path.stat().st_size <= 40 * 200 + 256
    rows, _ = read(path, 200, 100_000)
    assert rows.shape == (200, 8)
    words, shares = words_and_shares(rows)
    assert np.array_equal(words, ids)
    expected = probabilities / probabilities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected, rtol=0.01)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)


def test_every_file_has_its_own_fingerprint(tmp_path):
    ids = np.arange(12).reshape(4, 3)
    one = written(tmp_path / "one.npy", ids, np.log(np.full((4, 3), 0.3)))
    other = written(tmp_path / "other.npy", ids, np.log(np.full((4, 3), 0.2)))
    prints = [read(path, 4, 12)[1] for path in (one, other, one)]
    assert prints[0] == prints[2] != prints[1]


def test_what_does_not_fit_is_refused(tmp_path):
    ids = np.arange(12).reshape(4, 3)
    path = written(tmp_path / "t.npy", ids, np.zeros((4, 3)))
    with pytest.raises(CgruError, match=r"t\.npy has 4 words and the training text 5"):
        read(path, 5, 12)
    with pytest.raises(CgruError, match="has word 11, but the target vocabulary has 11 words"):
        read(path, 4, 11)
    whole = path.read_bytes()
    np.save(tmp_path / "other.npy", ids)
    for name, content in (
        ("cut.npy", whole[:-1]),
        ("text.npy", b"a line\n"),
        ("empty.npy", b""),
        ("other.npy", None),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(CgruError, match=f"{name}: not a file of cgru score --word-top-k"):
            read(tmp_path / name, 4, 12)
    with pytest.raises(CgruError, match=r"missing\.npy"):
        read(tmp_path / "missing.npy", 4, 12)


@given(st.lists(st.lists(st.integers(), min_size=1)))
def test_words_from_the_end(sentences):
    """Each sentence's last word, its end, stays the last."""
    joined = np.array([word for words in sentences for word in words], object)
    lengths = np.array(list(map(len, sentences)), int)
    expected = [word for *words, end in sentences for word in [*words[::-1], end]]
    assert joined[from_the_end(lengths)].tolist() == expected
