"""The pieces that begin words: as many as there are words between spaces."""

import io

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.system.lines import tokens
from cgru_cli.text.source_words import (
    SourceLines,
    characters,
    pieces_of_words,
    source_columns,
    source_ids,
    word_starts,
)
from cgru_cli.text.vocabulary import Vocabulary

WORDS = Vocabulary({"</s>": 0, "<unk>": 1, "a": 2, "b@@": 3, "c": 4})


@pytest.fixture(scope="module")
def pieces():
    model = io.BytesIO()
    text = ["the cat sat on the mat", "a dog sat on a log", "dogs and cats and mats"] * 5
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=40, eos_id=0, unk_id=1,
        bos_id=-1, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    return Vocabulary(ids, "text.spm", format="sentencepiece", processor=processor)


def test_sub_words_belong_to_the_word_that_they_begin():
    words = ["a", "b@@", "b@@", "c", "c"]
    assert word_starts(words, [WORDS]) == [1, 1, 0, 0, 1]
    assert source_columns("a b@@ c", [WORDS], starts=True) == [(2, 1), (3, 1), (4, 0)]
    assert source_columns("a b@@ c", [WORDS], starts=False) == [(2,), (3,), (4,)]
    assert word_starts(["b@@|c", "c|a"], [WORDS, WORDS]) == [1, 0]
    assert word_starts([], [WORDS]) == []


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), max_size=20))
def test_every_word_of_raw_text_is_counted(pieces, line):
    assert sum(word_starts(pieces_of_words(line, pieces), [pieces])) == len(tokens(line))


@given(st.lists(st.sampled_from(["the", "cat", "dogs", "mat", "sat", "a"])))
def test_words_are_cut_as_sentencepiece_cuts_the_line(pieces, words):
    line = " ".join(words)
    assert pieces_of_words(line, pieces) == pieces.tokenize(line)
    assert source_ids(pieces.tokenize(line), [pieces]) == [
        columns[:-1] for columns in source_columns(line, [pieces], starts=True)
    ]


def test_too_many_words_to_tag_are_refused():
    lines = SourceLines(tokens, None, longest=2, counted=len)
    assert lines.words("a b", 0) == ["a", "b"]
    with pytest.raises(CgruError, match="line 5: 3 words or pieces"):
        lines.words("a b c", 4)


def test_characters_and_spaces_are_words():
    assert characters(" aü\u00a0 b\r") == ["a", "ü", "\u00a0", " ", "b"]
    assert characters(" \t") == []
