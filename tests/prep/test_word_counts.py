"""Word counts: the same whether they fit in memory or not."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.prep.word_counts import WordCounts

WORDS = st.text(
    st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), min_size=1, max_size=2
)


@given(st.lists(st.lists(WORDS, max_size=8), max_size=8), st.sampled_from([0, 1, 3, 100]))
def test_counts_are_those_of_a_plain_counter(chunks, limit):
    with tempfile.TemporaryDirectory() as folder:
        counts = WordCounts(Path(folder), "words", largest=3)
        for chunk in chunks:
            counts.add(Counter(chunk))
        found = counts.most_common(limit)
    expected = Counter(word for chunk in chunks for word in chunk)
    ordered = sorted(expected, key=lambda word: (-expected[word], word))
    assert found == (ordered[:limit] if limit else ordered)


@pytest.mark.parametrize("largest", [1, 100])
def test_words_can_be_left_out(tmp_path, largest):
    counts = WordCounts(tmp_path, "words", largest)
    counts.add(Counter({"eos": 5, "a": 2}))
    counts.add(Counter({"b": 3, "UNK": 1}))
    assert counts.most_common(1, without=("eos", "UNK")) == ["b"]
