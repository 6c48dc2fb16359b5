"""SentencePiece vocabularies learned from the training text."""

import numpy as np
import pytest
import sentencepiece

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.train import sentencepiece_vocabulary
from cgru_cli.train.sentencepiece_vocabulary import _drawn, learn, trainer_options

TEXT = [b"the cat sat\n", b"the cat ran\n", b"a dog sat\n", b"a dog ran"]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr(sentencepiece_vocabulary, "alone", lambda work, *given: work(*given))


def pieces(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def test_the_options_reach_the_trainer():
    plain = pieces(learn(TEXT, 15, {}, max_lines=100, seed=1))
    assert plain[:2] == ["</s>", "<unk>"] and len(plain) == 15
    options = trainer_options("--user_defined_symbols=XY,Z --model_type='bpe'")
    assert options == {"user_defined_symbols": "XY,Z", "model_type": "bpe"}
    more = pieces(learn(TEXT, 18, options, max_lines=100, seed=1))
    assert {"XY", "Z"} <= set(more) and len(more) == 18


def test_lines_are_drawn_beyond_the_maximum():
    """Each line repeats one letter; the pieces are those of the two lines that are drawn."""
    text = [letter.encode() * 3 for letter in "abcdefgh"]
    options = {"hard_vocab_limit": "false"}
    learned = set(pieces(learn(text, 30, options, max_lines=2, seed=3)))
    assert len({letter for letter in "abcdefgh" if letter in "".join(learned)}) == 2


def test_lines_are_drawn_uniformly():
    counts = [0] * 6
    for seed in range(3000):
        for line in _drawn((bytes([i]) for i in range(6)), 2, np.random.default_rng(seed)):
            counts[line[0]] += 1
    assert all(900 < count < 1100 for count in counts)  # 1000 each, within 4 standard deviations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_threads=1", "num_threads=1: --NAME=VALUE is expected"),
        ("--model_type='bpe", "--sentencepiece-options --model_type='bpe: No closing quotation"),
        ("--eos_id=3", "cgru train sets eos_id itself"),
    ],
)
def test_options_that_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        trainer_options(text)


def test_errors_of_sentencepiece():
    with pytest.raises(CgruError, match=r"did not learn 32000 pieces: .* too high .*--dim-vocabs"):
        learn(TEXT, 0, {}, max_lines=100, seed=1)
    with pytest.raises(UsageError, match='--sentencepiece-options: unknown field name "nonsense"'):
        learn(TEXT, 20, {"nonsense": "1"}, max_lines=100, seed=1)
    with pytest.raises(UsageError, match=r"--sentencepiece-options: .*cannot parse"):
        learn(TEXT, 20, {"num_threads": "x"}, max_lines=100, seed=1)
