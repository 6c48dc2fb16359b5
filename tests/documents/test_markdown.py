"""Marks of Markdown that need the whole document: line breaks inside marks, and defined links."""

import pytest

from cgru_cli.documents.markdown import Markdown

BROKEN = "> **A house.  \n> It is old.** New.\n\nStreet\\\nCity [a <b>c\\\n  d</b>](x)\n"


def test_a_line_break_inside_a_mark_is_a_mark():
    document = Markdown(BROKEN.encode())
    assert document.segments[0] == '**A house.<br id="0"/>It is old.** New.'
    assert document.written(document.segments).decode() == BROKEN
    changed = [one.replace("A", "The").replace("d<", "e<") for one in document.segments]
    wanted = BROKEN.replace("A", "The").replace("d<", "e<")
    assert document.written(changed).decode() == wanted


@pytest.mark.parametrize(
    ("translation", "written"),
    [
        ('**B <br id="0"/> c**', "**B  \nc**"),
        ('**<br id="0"/>B c**', "**<br/>B c**"),
        ('**B<br id="0"/>- c**', "**B<br/>- c**"),
        ('**B<br id="9"/>c**', '**B<br id="9"/>c**'),
    ],
)
def test_a_line_break_never_undoes_marks(translation, written):
    document = Markdown(b"**a  \nb**\n")
    assert document.written([translation]).decode() == f"{written}\n"


def test_labels_of_links_are_those_of_the_document():
    text = "See [old  book], [new book] and `[old book]`[^1].\n\n[Old book]: x.md\n[^1]: y\n"
    document = Markdown(text.encode())
    assert document.segments == ["See [old book][], [new book] and `[old book]`[^1]."]
    assert document.written(document.segments).decode() == text


@pytest.mark.parametrize(
    ("translation", "written"),
    [
        ("# b", r"\# b"),
        ("12. Mai", r"12\. Mai"),
        ("12) b", r"12\) b"),
        ("<b>a</b> *b*", "<b>a</b> *b*"),
        ("<!-- c --> *b*", "&#8203;<!-- c --> *b*"),
        ("<p>a</p> *b*", "&#8203;<p>a</p> *b*"),
        ("<%= b %>", "<%= b %>"),
    ],
)
def test_a_translation_begins_no_other_block(translation, written):
    assert Markdown(b"On May 12").written([translation]).decode() == written


@pytest.mark.parametrize(
    ("text", "translation", "written"),
    [
        ("# In C #\n", "In C #", "# In C \\# #\n"),
        ("# The C# language\n", "Die Sprache C #", "# Die Sprache C \\#\n"),
        ("# The \\# sign \\#\n", "Zeichen \\#", "# Zeichen \\#\n"),
        ("|a|b|\n|-|-|\n|c|d|\n", "A\\", "|A\\\\|A\\\\|\n|-|-|\n|A\\\\|A\\\\|\n"),
        ("a\\\nb\n", "A\\", "A\\\\\\\nA\\\\\n"),
    ],
)
def test_the_end_of_a_translation_is_shown(text, translation, written):
    """`\\` escapes no mark behind the block, and `#` does not close a heading."""
    document = Markdown(text.encode())
    assert document.written([translation] * len(document.segments)).decode() == written
