"""Vocabularies: special words, limits, words and ids."""

import numpy as np
import pytest
from commands import new_style, old_style
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.text.vocabulary import Vocabulary


def test_words_with_the_names_of_special_words():
    vocabulary = Vocabulary({"the": 2, "UNK": 7, "eos": 9})
    assert (vocabulary.eos_id, vocabulary.unk_id, vocabulary.size) == (0, 1, 10)
    assert vocabulary.encode(["eos", "UNK", "the", "cat"]) == [9, 7, 2, 1]
    assert vocabulary.decode([9, 7, 2, 1, 5]) == ["eos", "UNK", "the", "UNK", "UNK"]


def test_another_text_of_the_unknown_word():
    vocabulary = Vocabulary({"eos": 0, "UNK": 1, "a": 2})
    assert vocabulary.with_unk("<unk>").decode([2, 1, 7]) == ["a", "<unk>", "<unk>"]
    assert vocabulary.decode([2, 1]) == ["a", "UNK"] and vocabulary.encode(["UNK"]) == [1]


@pytest.mark.parametrize("content", [old_style("a"), new_style("a"), {"</s>": 0, "<unk>": 1}])
def test_no_word_of_the_input_ends_the_sentence(content):
    vocabulary = Vocabulary(content)
    names = ["eos", "</s>", "<EOS>", "a"]
    assert 0 not in vocabulary.encode(names)
    assert len(vocabulary.encode(names)) == 4


def test_two_names_for_the_same_special_id():
    vocabulary = Vocabulary({"a": 2, "<s>": 0, "</s>": 0, "UNK": 1})
    assert vocabulary.words[0] == "</s>"
    assert vocabulary.encode(["<s>", "</s>", "a"]) == [1, 1, 2]


def test_first_id_is_eos_whatever_its_name(capsys):
    vocabulary = Vocabulary({"a": 0, "b": 1, "c": 2}, "v.json")
    assert "v.json: id 0 is 'a'; it is taken as the end of the sentence" in capsys.readouterr().err
    assert vocabulary.encode(["a", "c"]) == [1, 2]


@pytest.mark.parametrize(
    ("format", "ids", "unknown"),
    [
        ("text", {"</s>": 0, "a": 1, "<unk>": 9}, 9),
        ("text", {"</s>": 0, "a": 1, "UNK": 2}, 2),
        ("yaml", {"</s>": 0, "a": 1, "<unk>": 9}, 9),
        ("yaml", {"</s>": 0, "UNK": 1, "<unk>": 9}, 1),
        ("yaml", {"</s>": 0, "a": 2, "<unk>": 9}, 1),
        ("json", {"eos": 0, "UNK": 1, "<unk>": 9}, 1),
        ("pickle", {"eos": 0, "a": 1, "<unk>": 9}, 1),
    ],
)
def test_the_unknown_word_of_each_format(format, ids, unknown):
    """Marian-dev, src/data/default_vocab.cpp, for text and YAML."""
    assert Vocabulary(ids, format=format).unk_id == unknown


@each_row(
    ("format", "ids", "refused"),
    [
        ("text", {"<s>": 0, "</s>": 1}, True),
        ("text", {"eos": 0, "</s>": 7}, True),
        ("yaml", {"<s>": 0, "</s>": 1}, True),
        ("yaml", {"eos": 0, "</s>": 7}, False),
        ("yaml", {"a": 1, "</s>": 7}, False),
        ("json", {"<s>": 0, "</s>": 1}, True),
        ("json", {"eos": 0, "</s>": 2}, False),
        ("json", {"<s>": 0, "</s>": 7}, False),
        ("pickle", {"<s>": 0, "</s>": 1}, False),
        ("pickle", {"a": 0, "</s>": 1}, True),
    ],
)
def test_another_end_of_sentence_is_refused(format, ids, refused):
    if not refused:
        assert Vocabulary(ids, format=format).eos_id == 0
        return
    with pytest.raises(CgruError, match=r"'</s>' has id \d; the end of sentence must have id 0"):
        Vocabulary(ids, format=format)


def test_limits():
    ids = old_style("a", "b", "c")
    vocabulary = Vocabulary(ids, limit=4)
    assert vocabulary.size == 4
    assert vocabulary.encode(["a", "b", "c"]) == [2, 3, 1]
    assert vocabulary.decode([3, 4, 99, -1]) == ["b", "UNK", "UNK", "UNK"]
    whole = Vocabulary(ids)
    assert whole.limited(4).fingerprint == vocabulary.fingerprint != whole.fingerprint
    assert whole.limited(100).size == 5
    assert vocabulary.limited(100).size == 4
    with pytest.raises(CgruError, match="do not include the unknown word"):
        whole.limited(1)


def test_decode_takes_arrays():
    assert Vocabulary(old_style("a")).decode(np.array([2, 1, 0, 2], np.int32)) == ["a", "UNK"]


def test_lacking_words():
    own = Vocabulary({"eos": 0, "UNK": 1, "a": 2, "b": 3, "c": 4})
    other = Vocabulary({"</s>": 0, "b": 1, "<unk>": 2, "a": 3, "d": 4, "UNK": 5})
    assert own.lacking(other) == ["d", "UNK"]  # an ordinary word there
    assert other.lacking(own) == ["c"]
    assert other.lacking(Vocabulary(own.ids, limit=4)) == []


def test_tokens_are_between_ascii_spaces():
    vocabulary = Vocabulary(old_style("a"))
    assert vocabulary.tokenize(" a  b\u00a0c\u3000d\te ") == ["a", "b\u00a0c\u3000d\te"]
    assert vocabulary.tokenize("") == []
    assert vocabulary.detokenize(["a", "b\u00a0c"]) == "a b\u00a0c"


def test_fingerprint_depends_on_the_content():
    prints = [
        Vocabulary(ids).fingerprint
        for ids in (old_style("a", "b"), old_style("b", "a"), new_style("a"), old_style("a"))
    ]
    assert len(set(prints)) == 4
    marian = {"</s>": 0, "<unk>": 1, "a": 2, "b": 3}
    assert Vocabulary(marian).fingerprint == prints[0]
