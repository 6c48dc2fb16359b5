"""Spans to copy: the built-in patterns, placeholders in pairs and lines, and their way back."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import UsageError
from cgru_cli.text.copying import (
    BUILT_IN,
    MOST,
    PLACEHOLDERS,
    Copying,
    Masked,
    known_placeholders,
    pattern,
)

ALL = Copying(BUILT_IN)


@each_row(
    ("name", "text", "found"),
    [
        ("number", "10 of 3.1.4, (2019) and 5%.", ["10", "3.1.4", "2019", "5"]),
        ("number", "1,000 or 3,5 are written otherwise in German; v1, 2nd, x5y", []),
        ("name", "Set System.Text.Json in PowerShell, iPhone (appsettings.json).",
         ["System.Text.Json", "PowerShell", "iPhone", "appsettings.json"]),
        ("name", "e.g. this, i.e. That one. End", []),
        ("url", "See https://a.org/x?y=1#z, (http://b.de/c). <ftp://d.e/f>",
         ["https://a.org/x?y=1#z", "http://b.de/c", "ftp://d.e/f"]),
        ("email", "To a.b+c@d-e.co.uk. Or x@y", ["a.b+c@d-e.co.uk"]),
        ("placeholder", "{0} of {name}, ${value} { not this }", ["{0}", "{name}", "${value}"]),
        ("code", "the `a b` and `c` but ` not", ["`a b`", "`c`"]),
    ],
)  # fmt: skip
def test_built_in_patterns(name, text, found):
    assert [span.text for span in Copying([name]).spans(text)] == found


def test_a_pattern_wins_over_later_ones_and_own_ones_over_all():
    text = "`a@b.de` mail a@b.de at https://b.de/7 7"
    assert [s.text for s in ALL.spans(text)] == ["`a@b.de`", "a@b.de", "https://b.de/7", "7"]
    own = Copying(["number", r"mail \S+"])
    assert [s.text for s in own.spans(text)] == ["mail a@b.de", "7", "7"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_patterns_are_linear(name):
    """A hard text of 40,000 repetitions; a quadratic pattern would take many seconds."""
    expression = re.compile(BUILT_IN[name])
    for unit in (
        "a.",
        "aB",
        "a",
        "1.",
        "1",
        "{a",
        "`a ",
        "a@b",
        "a@b.",
        "http://",
        "http://.,",
        "_",
    ):
        start = time.process_time()
        sum(1 for _ in expression.finditer(unit * 40_000 + "\n"))
        assert time.process_time() - start < 2, unit


def test_pairs_get_placeholders_for_spans_of_both_sides():
    copying = Copying(["number", "name"])
    source, target = "In PowerShell 7 use 7 of 12 ⟦1⟧.", "Von 12 nimm 7 in PowerShell 8."
    assert copying.pair(source, target) == (
        "In ⟦1⟧ ⟦2⟧ use 7 of ⟦3⟧ [1].",
        "Von ⟦3⟧ nimm ⟦2⟧ in ⟦1⟧ 8.",
    )
    many = " ".join(map(str, range(MOST + 2)))
    left, right = copying.pair(many, many)
    assert left == right and left.endswith(f"⟦{MOST}⟧ {MOST} {MOST + 1}")


TEXTS = st.text(st.sampled_from("aB1. `{}@:/h⟦⟧"), max_size=40)


@given(TEXTS, st.integers(0, MOST))
def test_spans_come_back_into_their_places(text, known):
    masked = ALL.masked(text, known)
    copied, others = masked.copied, masked.others
    assert len(copied) <= known and (not others or len(copied) == known)
    assert masked.undo(masked.text) == text.replace("⟦", "[").replace("⟧", "]")
    assert all(masked.text[one.start : one.end] == one.text for one in others)


@given(TEXTS, TEXTS)
def test_pairs_keep_their_text(source, target):
    left, right = ALL.pair(source, target)
    numbers = [re.findall("⟦[0-9]+⟧", side) for side in (left, right)]
    assert numbers[0] == list(PLACEHOLDERS[: len(numbers[0])]) and sorted(numbers[1]) == sorted(
        numbers[0]
    )


def test_placeholders_without_a_span_disappear():
    assert Masked("", ["x", "⟦2⟧"]).undo("a ⟦2⟧ b ⟦1⟧⟦3⟧") == "a ⟦2⟧ b x"


def test_placeholders_of_all_vocabularies_count():
    assert known_placeholders(PLACEHOLDERS, PLACEHOLDERS) == MOST
    assert known_placeholders(PLACEHOLDERS[:3], PLACEHOLDERS) == 3
    assert known_placeholders(PLACEHOLDERS[1:]) == 0


@pytest.mark.parametrize(("text", "message"), [("(", "regular expression"), ("a*", "empty text")])
def test_invalid_patterns(text, message):
    with pytest.raises(ValueError, match=message):
        pattern(text)
    with pytest.raises(UsageError, match=message):
        Copying([text])
    assert [pattern(one) for one in ("url", "a+")] == ["url", "a+"]
    assert pattern("none", or_none=True) == "none"
