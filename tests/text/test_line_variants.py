"""Variants of training lines."""

import difflib
import random

import pytest

from cgru_cli.text.line_variants import (
    Variants,
    english_title_case,
    with_typos,
    without_full_stop,
)


def test_pairs_are_chosen_by_their_number():
    chosen = Variants(all_caps_every=4, title_case_every=2)
    pairs = [chosen.of(number, "a big dog", "ein großer hund") for number in range(6)]
    caps, title = ("A BIG DOG", "EIN GROßER HUND"), ("a Big Dog", "ein großer hund")
    plain = "a big dog", "ein großer hund"
    assert pairs == [caps, title, plain, title, caps, title]
    assert [Variants().of(number, *plain) for number in range(3)] == [plain] * 3
    assert Variants(1, 1).of(0, None, "a") == (None, "A")
    assert Variants(0, 2).of(1, None, "a") == (None, "a")


@pytest.mark.parametrize(
    ("line", "titled"),
    [
        ("the end of a well-known 'play'", "the End of a Well-Known 'Play'"),
        ('don\'t (say) "so" after all', 'Don\'t (say) "So" after All'),
        ("The iPad and ▁pieces x1y 2nd éclair", "The IPad and ▁pieces X1y 2nd éclair"),
        ("", ""),
    ],
)
def test_english_title_case(line, titled):
    """As in Marian's src/common/utils.cpp: only after some characters, and not small words."""
    assert english_title_case(line) == titled


def test_noise_of_pairs():
    chosen = Variants(typos_every=5, no_full_stop_every=5, join_every=5)
    plain = "Something different here.", "Hier etwas anderes."
    pairs = [chosen.of(number, *plain) for number in range(10)]
    varied = [number for number in range(10) if pairs[number] != plain]
    assert varied == [2, 3, 7, 8]
    assert pairs[2][1] == plain[1] and pairs[2][0] != pairs[7][0]
    assert pairs[3] == pairs[8] == (plain[0][:-1], plain[1][:-1])
    assert [chosen.joined(number) for number in (0, 4, 5, 9, 14, 19)] == [0, 1, 0, 2, 3, 1]
    assert chosen.of(2, None, "Eins.") == (None, "Eins.")
    assert chosen.of(3, None, "Eins.") == (None, "Eins")


def test_typos():
    """Only longer words change, in one place and not at their beginning; names and code do not."""
    line = 'the "LedgerTable" and file.txt, (which cost 1000x1) are ßß änderung `code` ⟦1⟧ for you.'
    seen = set()
    for seed in range(300):
        words = with_typos(line, random.Random(seed)).split(" ")
        changed = [(a, b) for a, b in zip(line.split(" "), words, strict=True) if a != b]
        assert changed
        for old, new in changed:
            first = 2 if old[0] == "(" else 1
            assert old.strip("(") in ("which", "cost", "änderung") and new[:first] == old[:first]
            kept = sum(
                b.size for b in difflib.SequenceMatcher(None, old, new).get_matching_blocks()
            )
            assert len(old) - 1 <= kept <= len(old) and abs(len(new) - len(old)) <= 1
            seen.add((len(new) - len(old), sorted(new) == sorted(old)))
    assert seen == {(0, True), (0, False), (1, False), (-1, False)}
    assert with_typos("ab 12", random.Random(0)) == "ab 12"


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("Eins.", "Eins"),
        ("Eins . ", "Eins"),
        ("一。", "一"),
        ("And so...", "And so..."),
        (".", "."),
    ],
)
def test_full_stops(line, without):
    assert without_full_stop(line) == without
