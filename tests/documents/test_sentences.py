"""Sentences of a line, by sentencex."""

import sys

import pytest
from tables import each_row

from cgru_cli.documents.sentences import Sentences
from cgru_cli.errors import CgruError, UsageError


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(CgruError, match=r"^sentencex is not installed: pip install 'cgru\[senten"):
        Sentences("en")


@each_row(
    ("language", "line", "sentences"),
    [
        ("en", "Mr. Smith paid 3.5 euros. Why?", ["Mr. Smith paid 3.5 euros.", "Why?"]),
        ("", "One sentence", ["One sentence"]),
        ("de", "Er kam am 3. Mai.  Gut!", ["Er kam am 3. Mai.", "Gut!"]),
        ("zh", "你好。再见。", ["你好。", "再见。"]),
        ("de-AT", "Er kam am 3. Mai.", ["Er kam am 3. Mai."]),
        ("xx", "Er kam am 3. Mai.", ["Er kam am 3.", "Mai."]),  # as English
        ("en", "See A.Org/B?C=D. Use {0}?{1}.", ["See A.Org/B?C=D.", "Use {0}?{1}."]),
        ("ja", "「はい。」そうです。", ["「はい。」", "そうです。"]),
        ("en", "", [""]),
        ("en", "   ", ["   "]),
        ("en", " Hello there .  How are you ? ", ["Hello there .", "How are you ?"]),
    ],
)  # fmt: skip
def test_sentences(language, line, sentences):
    pytest.importorskip("sentencex")
    assert Sentences(language).split(line) == sentences


@pytest.mark.parametrize("code", ["German", "d", "en,de"])
def test_what_is_no_code_is_refused(code):
    with pytest.raises(UsageError, match=f"^{code}: not the code of a language in ISO 639"):
        Sentences(code)


@pytest.mark.parametrize(
    ("target", "joined"), [("", "A. B."), ("de", "A. B."), ("zh", "A.B."), ("ja-JP", "A.B.")]
)
def test_translations_are_joined(target, joined, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", sys.modules["sys"])
    monkeypatch.setattr(sys, "segment", None, raising=False)
    assert Sentences("en", target).join(["A.", "", "B."]) == joined
