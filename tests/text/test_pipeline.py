"""The pipeline from a line of text to a model's input, and back."""

import base64
import json
import re
import unicodedata
from collections import Counter

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.text.moses import CaseModel
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.subwords import Codes, learn_codes, learn_pieces

TEXT = [
    "the cat sat on the mat .",
    "the dog sat on the log .",
    "a cat and a dog ate the rat .",
    "low lower lowest new newer newest wide wider widest",
] * 5
WORDS = Counter(word for line in TEXT for word in line.split())
CODES = learn_codes(WORDS, 40)
BPE = learn_pieces(TEXT, "bpe", 60, 1.0)
UNIGRAM = learn_pieces(TEXT, "unigram", 40, 1.0)
# Parts of real lines, and problematic characters.
ODD = ["@@", "foo@@", "</w>", "</s>", "<unk>", "eos", "&amp;", "\u2581", "…"]
CHARACTERS = "abcdehilorstw .@|_\u2581\u00a0\t\r\x01\u0301é<>/&;'\"-"
LINES = (
    st.text()
    | st.text(st.sampled_from(CHARACTERS))
    | st.lists(st.sampled_from([*WORDS, *ODD])).map(" ".join)
)


def pipeline(subwords="none", model=(), **settings):
    return Preprocessing(
        PipelineSettings(subwords=subwords, pieces=bool(model), **settings), (), model
    )


PIPELINES = {
    "words": pipeline(),
    "codes": pipeline("subword-nmt", (CODES,)),
    "old codes": pipeline("subword-nmt", (CODES.replace("#version: 0.2\n", ""),)),
    "bpe": pipeline("bpe", (BPE,)),
    "unigram": pipeline("unigram", (UNIGRAM,)),
    "spm later": pipeline("bpe"),
    "nfkc": pipeline("unigram", (UNIGRAM,), unicode="nfkc"),
    "lower": pipeline("bpe", (BPE,), case="lower"),
}


@pytest.mark.parametrize("name", PIPELINES)
@given(line=LINES)
def test_apply_then_undo_gives_the_cleaned_text(name, line):
    of = PIPELINES[name]
    cleaned = of.normalize(line)
    applied = of.apply(line, "target")
    assert "\n" not in applied and applied == " ".join(applied.split(" "))
    assert not re.search("^ | $|  ", applied)
    assert of.undo(applied) == (cleaned.lower() if name == "lower" else cleaned)


@given(line=LINES, form=st.sampled_from(["nfc", "nfkc", "none"]))
def test_normalising_twice_changes_nothing(line, form):
    of = pipeline(unicode=form)
    text = of.normalize(line)
    assert of.normalize(text) == text
    assert text == " ".join(text.split())
    assert not any(unicodedata.category(c) == "Cc" for c in text)


def test_normalising_by_hand():
    of = pipeline()
    assert of.normalize("\ufeffa\x01\u00a0 \tb\u2028 e\u0301\r") == "a b \u00e9"
    assert pipeline(unicode="none").normalize("e\u0301 ﬁ") == "e\u0301 ﬁ"
    assert pipeline(unicode="nfkc").normalize("ﬁ１") == "fi1"
    assert pipeline("bpe").normalize("a\u2581b") == "a_b"


def test_pieces_are_those_of_sentencepiece():
    model = base64.b64decode(BPE)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert (processor.eos_id(), processor.unk_id()) == (0, 1)
    assert (processor.bos_id(), processor.pad_id()) == (-1, -1)
    for line in TEXT[:4]:
        pieces = PIPELINES["bpe"].apply(line)
        assert pieces.split(" ") == processor.encode(line, out_type=str)
        assert PIPELINES["bpe"].undo(pieces) == processor.decode(pieces.split(" "))


def test_the_same_text_gives_the_same_model():
    for kind, model in (("bpe", BPE), ("unigram", UNIGRAM)):
        size = sentencepiece.SentencePieceProcessor(
            model_proto=base64.b64decode(model)
        ).get_piece_size()
        assert learn_pieces(TEXT, kind, size, 1.0) == model
    assert learn_codes(Counter(dict(reversed(WORDS.items()))), 40) == CODES


def moses(**settings):
    defaults = {"languages": ("en", "de"), "tokenize": True}
    return Preprocessing(PipelineSettings(**{**defaults, **settings}))


@pytest.mark.parametrize(
    "line",
    [
        "Hello, world!",
        "A man (in green) doesn't sleep; he's at the U.S. border.",
        'He said: "Go away."',
        "It costs $ 5,300.50 or 10%.",
        "Mr. Smith's well-known dog & cat | a <b> [c].",
    ],
)
def test_moses_there_and_back(line):
    of = moses()
    words = of.apply(line)
    assert words != line and words.split() == words.split(" ")
    normal = line.replace("$ 5", "$5").replace(" & cat | a <b> [c]", "")
    back = of.undo(words, "source").replace(" & cat | a < b > [c]", "")
    assert back == normal


def test_moses_by_hand():
    assert moses().apply("Don't (stop)!") == "Don 't ( stop ) !"
    assert moses(escape=True).apply("Don't & <b>") == "Don &apos;t &amp; &lt; b &gt;"
    assert moses(escape=True).undo("Don &apos;t &amp;", "source") == "Don't &"
    assert moses(split_hyphens=True).apply("well-known") == "well @-@ known"
    assert moses(split_hyphens=True).undo("well @-@ known", "source") == "well-known"
    of = moses(normalize_punctuation=True)
    assert of.apply("„Ja“ \u2013 so…", "target") == '" Ja " - so ...'
    assert moses(case="lower").apply("The END") == "the end"


@given(line=LINES)
def test_moses_never_fails_and_keeps_lines(line):
    for of in (moses(normalize_punctuation=True), moses(escape=True, split_hyphens=True), TRUE):
        words = of.apply(line, "target")
        assert "\n" not in words and not re.search("^ | $|  ", words)
        assert "\n" not in of.undo(words)
        assert "\n" not in of.undo(line.replace("\n", " "))


CASES = CaseModel.learn(["He saw The Times .", "Saw he the cat ?", "The cat saw Anna ."])
TRUE = Preprocessing(PipelineSettings(("en", "en"), tokenize=True, case="true"), (CASES, CASES))


def test_true_case_by_hand():
    # Beginnings of sentences do not count; "The" is as frequent as "the" elsewhere, and came first.
    assert CASES.best == ("Anna", "The", "Times", "cat", "he", "saw")
    assert CASES.known == ("the",)
    assert TRUE.apply("He saw the CAT. Cat saw anna") == "he saw the cat . cat saw Anna"
    assert TRUE.undo("he saw the cat . cat saw Anna") == "He saw the cat. Cat saw Anna"


def test_factors_are_repeated_on_sub_words():
    of = pipeline("subword-nmt", (CODES,), factors=2, case="lower")
    split = Codes(CODES, "codes").split
    pieces = [*((p, "N") for p in split("lowly")), *((p, "V") for p in split("sat"))]
    line = of.apply("Lowly|N  sat|V", "source")
    assert line == " ".join("|".join(piece) for piece in pieces)
    assert of.apply("Lowly|N sat|V", "source", words=True) == "lowly|N sat|V"
    assert of.undo(line, "source") == "lowly sat"
    assert of.apply("a|b", "target") == " ".join(split("a|b"))
    assert of.apply("") == ""
    for wrong in ("lowly", "lowly|N|x", "|N", "lowly|"):
        with pytest.raises(CgruError, match=r"factors, expected 2"):
            of.apply(wrong)


@each_row("name", [*PIPELINES, "true case"])
def test_file_has_the_whole_pipeline(name, tmp_path):
    of = TRUE if name == "true case" else PIPELINES[name]
    (tmp_path / "preprocess.json").write_text(json.dumps(of.as_json()), "utf-8")
    read = Preprocessing.read(tmp_path)
    assert read.as_json() == of.as_json()
    assert read.apply("The lowest cat.") == of.apply("The lowest cat.")
    assert Preprocessing.read(tmp_path / "preprocess.json").settings == of.settings


def test_each_side_has_its_model():
    of = Preprocessing(
        PipelineSettings(subwords="subword-nmt", pieces=True),
        (),
        ("#version: 0.2\na b</w>\n", "#version: 0.2\nb a</w>\n"),
    )
    assert (of.apply("ab ba"), of.apply("ab ba", "target")) == ("ab b@@ a", "a@@ b ba")


GOOD = PIPELINES["bpe"].as_json()


def damaged(**changes):
    return {**GOOD, **changes}


def with_setting(**changes):
    return damaged(settings={**GOOD["settings"], **changes})


@each_row(
    ("values", "message"),
    [
        ([], "a JSON object is expected"),
        ({}, "not a preprocess.json"),
        (damaged(version=2), "version 2, this program reads 1"),
        (damaged(settings=None), "damaged"),
        (damaged(subword_models=[]), "damaged"),
        (damaged(subword_models=[1]), "damaged"),
        (damaged(subword_models=["%%%"]), "SentencePiece model is damaged"),
        (damaged(subword_models=["AAAA"]), "SentencePiece model is damaged"),
        (damaged(case_models=[{}]), "damaged"),
        (with_setting(unicode="nfq"), "damaged"),
        (with_setting(unicode=["nfc"]), "damaged"),
        (with_setting(factors=0), "damaged"),
        (with_setting(factors=True), "damaged"),
        (with_setting(languages=["en"]), "damaged"),
        (with_setting(more=1), "damaged"),
        (with_setting(case="true"), "damaged"),
        (with_setting(subwords="subword-nmt"), "expected two sub-words"),
    ],
)
def test_damaged_file_gives_one_line(values, message, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(values))
    with pytest.raises(CgruError, match=message) as caught:
        Preprocessing.read(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(CgruError, match="No such file"):
        Preprocessing.read(tmp_path)
    (tmp_path / "preprocess.json").write_bytes(b"\xff{")
    with pytest.raises(CgruError, match="not JSON"):
        Preprocessing.read(tmp_path)
