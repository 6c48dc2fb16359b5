"""Moses' steps, with sacremoses: words, punctuation and case, and back."""

import re
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError

pytest.importorskip("sacremoses")

from cgru_cli.text.moses import CaseModel, PunctuationNormalizer, Tokenizer, Truecaser, sacremoses

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30)
PLAIN = st.lists(st.text(st.sampled_from("abcxyzäé"), min_size=1, max_size=6), max_size=8)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "The U.S. isn't far.", "The U.S. isn 't far ."),
        ("en", "Is it?  (No!)", "Is it ? ( No ! )"),
        ("de", "Das kostet z.B. 3,50 Euro.", "Das kostet z.B. 3,50 Euro ."),
        ("fr", "L'eau d'ici, non.", "L' eau d' ici , non ."),
        ("en", "", ""),
    ],
)
def test_words_by_hand(language, text, words):
    tokenizer = Tokenizer(language, escape=False, split_hyphens=False)
    assert tokenizer.split(text) == words
    assert tokenizer.join(words) == " ".join(text.split())


@given(PLAIN)
def test_letters_do_not_change(words):
    text = " ".join(words)
    tokenizer = Tokenizer("en", escape=True, split_hyphens=True)
    assert tokenizer.split(text) == text
    assert tokenizer.join(text) == text


@pytest.mark.parametrize("escape", [False, True])
@given(text=TEXT)
def test_splitting_only_adds_spaces(escape, text):
    """Without escapes and @-@, only spaces change."""
    words = Tokenizer("en", escape, split_hyphens=False).split(text)
    assert not re.search("\n|^ | $|  ", words)
    if not escape:
        assert "".join(words.split()) == "".join(text.split())


def test_punctuation_by_hand():
    quoted = "\u201ca\u201d  \u2018b\u2019 \u2013 c\u2026 \u00abd\u00bb"
    assert PunctuationNormalizer("en")(quoted) == '"a" \'b\' - c... "d"'
    assert PunctuationNormalizer("de")("\u201ea\u201c") == '"a"'
    # The separators of numbers depend on the language.
    assert PunctuationNormalizer("de")("3\u00a0000") == "3,000"
    assert PunctuationNormalizer("en")("3\u00a0000") == "3.000"


@given(TEXT)
def test_punctuation_is_single_spaced(text):
    normal = PunctuationNormalizer("en")(text)
    assert normal == " ".join(normal.split())


def form_counts(lines):
    """Counts of words after the first of a line, whose case means nothing."""
    counts = {}
    for line in lines:
        for word in line.split(" ")[1:]:
            counts.setdefault(word.lower(), Counter())[word] += 1
    return counts


@given(st.lists(st.lists(st.sampled_from(["a", "A", "bc", "Bc", "BC", "d"]), min_size=1)))
def test_the_most_frequent_form_is_best(lines):
    lines = [" ".join(words) for words in lines]
    model = CaseModel.learn(lines)
    counts = form_counts(lines)
    best = [max(found, key=found.__getitem__) for found in counts.values()]  # of equals the first
    assert model.best == tuple(sorted(best))
    every = {form for found in counts.values() for form in found}
    assert model.known == tuple(sorted(every - set(best)))


def test_sentences_begin_anew_inside_a_line():
    model = CaseModel.learn(["He came . The cat saw The Times : Yes"])
    # Words after a full stop or a colon count like the first of a line.
    assert set(model.best) == {"came", "cat", "saw", "The", "Times"} | set(".:") & set(model.best)
    assert "Yes" not in model.best and "He" not in model.best


def test_true_case():
    model = CaseModel(best=("Anna", "cat", "the", "saw"), known=("Cat", "THE"))
    case = Truecaser(model)
    assert case("The CAT saw ANNA") == "the cat saw Anna"
    assert case("Saw anna THE Cat x Y") == "saw Anna THE Cat x Y"  # known forms stay
    assert case("") == ""
    assert case.undo("the cat . anna ! x") == "The cat . Anna ! X"


@given(PLAIN.filter(bool))
def test_true_case_changes_only_the_case(words):
    case = Truecaser(CaseModel(best=("Abc", "X"), known=()))
    text = " ".join(words)
    assert case(text).lower() == text
    assert case.undo(text).lower() == text
    assert case.undo(text)[0] == text[0].upper()


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    for make in (sacremoses, lambda: Tokenizer("en", False, False), lambda: CaseModel.learn(["a"])):
        with pytest.raises(CgruError, match=r"sacremoses is not installed: pip install 'cgru\["):
            make()
