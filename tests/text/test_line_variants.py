"""Variants of training lines."""

import pytest

from cgru_cli.text.line_variants import Variants, english_title_case


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
    """As Marian's src/common/utils.cpp has it: only after some characters, and not small words."""
    assert english_title_case(line) == titled
