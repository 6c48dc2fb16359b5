"""Sub-words: learned as published, split as by hand, and joined again."""

import base64
import codecs
import io
import json
import random
import re
import sys
from collections import Counter
from itertools import pairwise

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from subword_nmt import apply_bpe
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.text import subwords
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.subwords import (
    Codes,
    Pieces,
    check_codes,
    learn_codes,
    learn_pieces,
)

# The example of Sennrich, Haddow and Birch (2016).
PAPER = Counter({"low": 5, "lower": 2, "newest": 6, "widest": 3})
TEXT = ["low lower newest widest wide new", "the cat sat on the mat", "a rat at that"] * 5
WORDS = st.text(st.sampled_from("lowernistdah@_é</>"), min_size=1, max_size=8)
LINES = st.lists(WORDS, max_size=6).map(" ".join)
MERGES = learn_codes(Counter(word for line in TEXT for word in line.split()), 30)
SIZES = {"bpe": 40, "unigram": 24}
PIECES = {kind: learn_pieces(TEXT, kind, size, 1.0) for kind, size in SIZES.items()}


def test_codes_are_learned_as_in_the_paper():
    # "st" and "es" come 9 times, then "est" 9, "lo" 7 and three pairs 6 times; of equals the last
    # in the alphabet wins.
    text = learn_codes(PAPER, 4)
    assert text == "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\n"
    assert Codes(text, "codes").split("lowest") == ["lo@@", "west"]


def merged(word, text):
    """The pieces of a word by definition: repeatedly apply the first merge of the file."""
    ranks = {tuple(line.split()): i for i, line in enumerate(text.split("\n")[1:-1])}
    symbols = [*word[:-1], word[-1] + "</w>"]
    while pairs := [pair for pair in pairwise(symbols) if pair in ranks]:
        first = min(pairs, key=ranks.__getitem__)
        done = []
        for symbol in symbols:
            if done and (done[-1], symbol) == first:
                done[-1] += symbol
            else:
                done.append(symbol)
        assert len(done) < len(symbols)
        symbols = done
    return [*(s + "@@" for s in symbols[:-1]), symbols[-1].removesuffix("</w>")]


@given(st.text(st.sampled_from("lowernistdahcm"), min_size=1, max_size=12))
def test_codes_split_as_defined(word):
    assert Codes(MERGES, "codes").split(word) == merged(word, MERGES)


DAMAGE = ["\n", " ", "\r\n", "\r", "\x85", "\u2028", "\f", "\xa0", "\t", "#version: 0.1\n", "\0"]


@each_row("seed", range(40))
def test_damaged_codes_are_refused_or_split_as_subword_nmt_does(seed, tmp_path):
    """Of a file of codes, and of those in a preprocess.json."""
    draw = random.Random(seed)
    text = learn_codes(Counter("lower lowest newer wider low low new ".split()), 12)
    for _ in range(draw.choice([1, 2, 5])):
        place = draw.randrange(len(text))
        middle = draw.choice([*DAMAGE, text[max(0, place - 9) : place]])
        text = text[:place] + middle + text[place + draw.choice([0, 0, 1, 9]) :]
    path, stored = tmp_path / "codes", tmp_path / "preprocess.json"
    path.write_text(text, newline="")
    settings = PipelineSettings(subwords="subword-nmt", pieces=True)
    values = Preprocessing(settings, (), ("#version: 0.2\na b\n",)).as_json()
    stored.write_text(json.dumps(values | {"subword_models": [text]}))
    words = "lower lowest newer wider low new tower"
    with codecs.open(path, encoding="utf-8") as file:  # like the original program
        try:
            expected = apply_bpe.BPE(file).process_line(words).split()
        except (SystemExit, ValueError):
            expected = None
    for split in (
        lambda: Codes(subwords.read_codes(str(path)), "codes").split(words),
        lambda: Preprocessing.read(stored).apply(words).split(),
    ):
        try:
            assert split() == expected
        except CgruError as error:
            assert str(error).isprintable()


@given(LINES)
def test_codes_join_what_they_split(words):
    codes = Codes(MERGES, "codes")
    pieces = codes.split(words)
    assert all(piece and " " not in piece for piece in pieces)
    assert codes.join(pieces) == words
    assert re.sub("@@( |$)", "", " ".join(pieces)) == words


@pytest.mark.parametrize("kind", PIECES)
@given(words=LINES)
def test_pieces_join_what_they_split(kind, words):
    pieces = Pieces(PIECES[kind], "spm")
    split = pieces.split(words)
    assert pieces.join(split) == words
    assert sum(piece.startswith("\u2581") for piece in split) == len(words.split())


def test_unknown_pieces_are_joined():
    pieces = Pieces(PIECES["bpe"], "spm")
    assert pieces.join(["\u2581xyz", "q", "\u2581\u2581", "w"]) == "xyzq  w"
    assert pieces.join([]) == ""


def test_cache_is_bounded(monkeypatch):
    words = [f"low{'er' * (i % 7)}est{i % 11}" for i in range(60)]
    expected = [Codes(MERGES, "codes").split(word) for word in words]
    monkeypatch.setattr(subwords, "_CACHE", 3)
    codes = Codes(MERGES, "codes")
    assert [codes.split(word) for word in words] == expected
    assert len(codes._bpe.cache) <= 4


def test_a_thread_may_empty_the_cache_while_another_reads_it(monkeypatch):
    class Interrupted(dict):
        def __contains__(self, word):
            found = super().__contains__(word)
            if word == "lowest":
                monkeypatch.setattr(subwords, "_CACHE", 0)
                codes.split("newest")  # as another thread would do here
            return found

    codes = Codes(MERGES, "codes")
    expected = codes.split("lowest")
    codes._bpe.cache = Interrupted(codes._bpe.cache)
    assert codes.split("lowest") == expected


def test_codes_depend_only_on_counts():
    assert learn_codes(Counter(dict(reversed(PAPER.items()))), 8) == learn_codes(PAPER, 8)
    check_codes(learn_codes(PAPER, 8), "codes")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12), st.booleans())
def test_a_line_of_codes_is_two_words(line, version):
    text = "#version: 0.2\n" * version + "a b\n" + line + "\n"
    parts = line.strip("\r ").split(" ")
    if len(parts) == 2 or not line:  # the last lines may be empty
        check_codes(text, "codes")
        return
    with pytest.raises(CgruError, match=f"^codes:{2 + version}: expected two sub-words"):
        check_codes(text, "codes")


def test_versions_of_codes():
    # In 0.1, as without a version, the end of a word is a symbol of its own.
    for first, pieces in (
        ("", ["low"]),
        ("#version: 0.1\n", ["low"]),
        ("#version: 0.2\n", ["lo@@", "w"]),
    ):
        assert Codes(f"{first}l o\nlo w\n", "codes").split("low") == pieces
    with pytest.raises(CgruError, match=r"codes:1: codes of an unknown version \('#version: 3'\)"):
        check_codes("#version: 3\na b\n", "codes")
    with pytest.raises(CgruError, match=r"codes:1: expected two sub-words"):
        check_codes("", "codes")


def test_warning_of_fewer_merges(capsys):
    learn_codes(PAPER, 1000)
    assert re.search(
        r"the text gives \d+ merges, fewer than --subword-voc", capsys.readouterr().err
    )
    learn_pieces(TEXT, "bpe", 1000, 1.0)
    assert re.search(r"gives \d+ pieces, fewer than --subword-voc", capsys.readouterr().err)
    learn_codes(PAPER, 3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", PIECES)
def test_model_has_the_kind_and_size_asked_for(kind):
    processor = sentencepiece.SentencePieceProcessor(model_proto=base64.b64decode(PIECES[kind]))
    assert processor.get_piece_size() == SIZES[kind]
    assert [processor.eos_id(), processor.unk_id()] == [0, 1]
    # It normalises nothing: ligatures and wide letters stay.
    text = "\ufb01 \uff21 a"
    assert processor.decode(processor.encode(text, out_type=str)) == text


def test_rare_characters_are_left_out():
    text = ["ab " * 100, "é"]
    sizes = {}
    for coverage in (1.0, 0.99):
        model = base64.b64decode(learn_pieces(text, "bpe", 8, coverage))
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        sizes[coverage] = processor.piece_to_id("é") != processor.unk_id()
    assert sizes == {1.0: True, 0.99: False}


@pytest.mark.parametrize("text", ["%", "YWJj", "é"])
def test_other_files_than_models_are_refused(text):
    with pytest.raises(CgruError, match=r"^p\.json: its SentencePiece model is damaged$"):
        Pieces(text, "p.json")


def test_ids_of_another_convention():
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=written, vocab_size=24, minloglevel=2
    )
    with pytest.raises(CgruError, match="does not end sentences with id 0"):
        Pieces(base64.b64encode(written.getvalue()).decode(), "p.json")


def test_too_little_to_learn_from():
    for counts in (Counter(), Counter({"a": 3}), Counter({"ab": 1})):
        with pytest.raises(CgruError, match=f"from {len(counts)} different words"):
            learn_codes(counts, 5)
    for lines, size, reason in (([""], 5, "the text has no words"), (["a"], 1, "the size is too")):
        with pytest.raises(CgruError, match=f"learned nothing \\({reason}"):
            learn_pieces(lines, "unigram", size, 1.0)
    with pytest.raises(CgruError, match="--subword-vocabulary 4: SentencePiece learned nothing"):
        learn_pieces(TEXT, "unigram", 4, 1.0)


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "subword_nmt.apply_bpe", None)
    with pytest.raises(CgruError, match=r"^subword-nmt is not installed: .* 'cgru\[prep\]'"):
        Codes(MERGES, "codes")
