"""Where the words of a prepared line begin in its text."""

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.text.offsets import offsets


@each_row(
    ("text", "words", "expected"),
    [
        ("a bc  d", "a bc d", [0, 2, 6]),
        ("Where is it?", "▁Where ▁is ▁it ?", [0, 6, 9, 11]),
        ("the 12.", "▁the ▁ 12 .", [0, 4, 4, 6]),  # ▁ alone begins where the number does
        ("The HOUSES", "the hou@@ ses", [0, 4, 7]),
        ("a — “b” c", 'a - " b " c', [0, 2, 4, 5, 6, 8]),  # replaced characters
        ("well-known & x", "well @-@ known &amp; x", [0, 4, 5, 11, 13]),
        ("cafe\u0301 ﬁne…", "café fine ...", [0, 6, 9]),
        ("a € b", "▁a ▁ <0xE2> <0x82> <0xAC> ▁b", [0, 2, 2, 2, 2, 4]),
        ("a b c d", "a b", [0, 2]),  # a line that was cut
        ("ab cd", "ab x cd", [0, 3, 3]),
        ("ab \U000f0000 cd", "ab cd", [0, 5]),  # a character left out
        ("", "", []),
        ("", "a", [0]),
    ],
)
def test_offsets(text, words, expected):
    assert offsets(words.split(), text) == expected


@given(st.lists(st.text("abÄ.", min_size=1, max_size=4)), st.data())
def test_of_words_between_spaces(words, data):
    text, places = "", []
    for word in words:
        text += " " * data.draw(st.integers(1, 2))
        places.append(len(text))
        text += word
    assert offsets([word.lower() for word in words], text) == places


def test_a_text_unlike_its_words():
    found = offsets(["abcdefgh"] * 100, "12345678 " * 90)
    assert found == sorted(found) and found[50] == 50 * 9 and found[-1] == 90 * 9
