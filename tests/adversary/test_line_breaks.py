"""A vocabulary word cannot add a line to the output."""

import io
import json

import pytest
import sentencepiece

from cgru_cli.errors import CgruError
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.text.vocabulary import Vocabulary

pytestmark = pytest.mark.long


@pytest.mark.parametrize("word", ["\n", "a\nb", "\r\n"])
def test_a_word_with_a_line_break_is_refused(tmp_path, word):
    path = tmp_path / "vocabulary.json"
    path.write_text(json.dumps({"eos": 0, "UNK": 1, "a": 2, word: 3}))
    with pytest.raises(CgruError, match=r"\(id 3\) has a line break") as refused:
        read_vocabulary(path)
    assert "\n" not in str(refused.value)


def test_other_controls_are_characters_like_others(tmp_path):
    words = {"eos": 0, "UNK": 1, "a\rb": 2, "\0": 3, "\x85": 4, "\u2028": 5}
    path = tmp_path / "vocabulary.json"
    path.write_text(json.dumps(words))
    vocabulary = read_vocabulary(path)
    assert vocabulary.decode([2, 3, 4, 5]) == ["a\rb", "\0", "\x85", "\u2028"]


@pytest.fixture(scope="module")
def pieces():
    """A SentencePiece model with a piece for a line break, and byte pieces."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e f", "f e d c b a"] * 20), model_writer=written,
        vocab_size=270, eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, hard_vocab_limit=False,
        model_type="bpe", byte_fallback=True, user_defined_symbols=["x\ny"], minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    ids = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    return Vocabulary(ids, "x.spm", format="sentencepiece", processor=processor)


def test_pieces_cannot_end_a_line(pieces):
    breaking = [pieces.ids["x\ny"], pieces.ids["<0x0A>"]]
    tokens = pieces.decode(breaking)
    assert not any("\n" in token for token in tokens)
    assert "\n" not in pieces.detokenize(tokens)
    assert "\n" not in pieces.detokenize(["x\ny", "<0x0A>"])
