"""Variants of training lines."""

import difflib
import random

import numpy as np
import pytest

from cgru_cli.text.line_variants import (
    CAPS,
    JOINED,
    NO_STOP,
    PLAIN,
    TITLE,
    TYPOS,
    Variants,
    english_title_case,
    with_typos,
    without_full_stop,
)


def test_pairs_are_chosen_by_their_number():
    chosen, numbers = Variants((4, 2, 0, 0, 0)), np.arange(6)
    assert chosen.kinds(numbers, 0).tolist() == [CAPS, TITLE, PLAIN, TITLE, CAPS, TITLE]
    assert Variants().kinds(numbers, 0).tolist() == [PLAIN] * 6
    noise = Variants((0, 0, 5, 5, 5)).kinds(numbers, 0)
    assert noise.tolist() == [PLAIN, PLAIN, TYPOS, NO_STOP, JOINED, PLAIN]
    assert Variants((1, 1, 1, 1, 1)).kinds(numbers, 0).tolist() == [CAPS] * 6


def test_each_epoch_chooses_other_pairs():
    """Over N epochs, every pair is each kind once, but Marian's pairs are always the same."""
    numbers, every = np.arange(7), (5, 0, 5, 5, 5)
    epochs = [Variants(every).kinds(numbers, epoch) for epoch in range(5)]
    kinds = [PLAIN, CAPS, TYPOS, NO_STOP, JOINED]
    for of_pair in np.transpose(epochs).tolist():
        assert sorted(of_pair) == kinds
    fixed = Variants(every, fixed=True)
    assert fixed.kinds(numbers, 3).tolist() == fixed.kinds(numbers, 0).tolist()
    assert Variants(every).drawn == {*kinds} and not fixed.drawn and not Variants().drawn


def test_lines_of_each_kind():
    plain = "a big dog", "ein großer hund."
    of = Variants().of
    assert of(PLAIN, 3, *plain) == plain
    assert of(CAPS, 3, *plain) == ("A BIG DOG", "EIN GROßER HUND.")
    assert of(TITLE, 3, *plain) == ("a Big Dog", plain[1])
    assert of(NO_STOP, 3, *plain) == (plain[0], plain[1][:-1])
    assert [of(kind, 3, None, "a.") for kind in (CAPS, TITLE, TYPOS, NO_STOP)] == [
        (None, "A."), (None, "a."), (None, "a."), (None, "a"),
    ]  # fmt: skip
    mistyped = [of(TYPOS, number, "something", "b") for number in range(9)]
    assert len(set(mistyped)) > 3 and {target for _, target in mistyped} == {"b"}


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


def test_one_to_three_earlier_pairs_are_joined():
    chosen = Variants((0, 0, 0, 0, 5))
    assert [chosen.joined(number) for number in (4, 9, 14, 19)] == [1, 2, 3, 1]


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
