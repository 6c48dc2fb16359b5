"""Marks of a line and their places: by hand, and against parsers for random nestings."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_translations import placed
from random_markup import (
    markdown_shape,
    marks_of,
    random_emphasis,
    random_line,
    random_markdown,
    random_placed,
    shape,
)
from tables import each_row

from cgru_cli.documents.markup import Markup, with_references


def marked(line, translation, links, form="html"):
    """The marks of a line in a translation; links: the source word of each target word."""
    markup, words = Markup(line, form), translation.split()
    weights = np.full((len(words), max(len(markup.plain.split()), 1)), 0.01)
    for target, source in enumerate(links):
        weights[target, source] = 1
    return placed(markup, translation, weights, words, markup.plain.split())


@each_row(
    ("line", "translation", "links", "expected"),
    [
        ("a <b>big house</b>.", "ein großes Haus .", [0, 1, 2, 2], "ein <b>großes Haus .</b>"),
        ("<i>see</i> the <b>cat</b>", "die Katze sehen", [1, 2, 0],
         "die <b>Katze</b> <i>sehen</i>"),
        ("<p><b>x</b> y</p>", "Y X", [1, 0], "<p>Y <b>X</b></p>"),
        ("<b>one\n<br/>two</b> three", "eins zwei drei", [0, 1, 2], "<b>eins <br/>zwei</b> drei"),
        ("<p>one</p><P>two</P>", "eins zwei", [0, 1], "<p>eins</p> <P>zwei</P>"),
        ("one<br/>two three", "eins zwei drei", [0, 1, 2], "eins<br/>zwei drei"),
        ("one <img src='a>b'> two", "eins zwei", [0, 1], "eins <img src='a>b'> zwei"),
        ("a &lt;b&gt; &amp; c", "a <b> & c", [0, 1, 2, 3], "a &lt;b&gt; &amp; c"),
        ("<b>a", "A", [0], "<b>A</b>"),
        ("a</b> <i><b>c</i>", "A C", [0, 1], "A <i><b>C</b></i>"),
        ("use <code>x &lt; y</code> now", "jetzt x < y nutzen", [4, 1, 2, 3, 0],
         "jetzt <code>x &lt; y</code> nutzen"),
        ("use <CODE>x y</CODE>", ", x y", [0, 1, 2], ", <CODE>x y</CODE>"),
        ("run <code>x</code>", "Starte, x", [1, 1], "<code>x</code>"),
        ("<br/>", "", [], "<br/>"),
        ("<!-- a > b --> c", "C", [0], "<!-- a > b --> C"),
        ("<b></b>a", "A", [0], "<b></b>A"),
        ("a <a href=x/?y=z/>b</a> c", "A B C", [0, 1, 2], "A <a href=x/?y=z/>B</a> C"),
        ("a <x id='=y' z/> <x id=1 /> b", "A B", [0, 1], "A <x id='=y' z/> <x id=1 /> B"),
        ("<td>&nbsp;</td><td>10</td>", "10", [0], "<td>&nbsp;</td><td>10</td>"),
        ("<p></p><p><b> </b></p>a<i> </i>.<code> </code>", "A. B", [0, 0],
         "<p></p><p><b> </b></p>A. B<i> </i><code> </code>"),
        ("<code>a <b>big <i/></b> &lt;</code> c", "a big C", [0, 1, 3],
         "<code>a <b>big <i/></b> &lt;</code> C"),
        ("<code>a <b>b</code> c</b>", "A B C", [0, 1, 2], "<code>a <b>b</code> C"),
        ("<code>a</b> b</code> c", "A B C", [0, 1, 2], "<code>a</b> b</code> C"),
        ("1 < 2 > 0", "1 < 2 > 0", [0, 1, 2, 3, 4], "1 &lt; 2 &gt; 0"),
    ],
)  # fmt: skip
def test_html(line, translation, links, expected):
    assert marked(line, translation, links) == expected


@each_row(
    ("line", "translation", "links", "expected"),
    [
        ("a **big** *house*", "ein Haus großes", [0, 2, 1], "ein *Haus* **großes**"),
        ("see [the page](a_b(c).md \"T i\") now", "jetzt die Seite sehen", [3, 1, 2, 0],
         'jetzt [die Seite](a_b(c).md "T i") sehen'),
        ("the `my code` here", "hier der my code", [3, 0, 1, 2], "hier der `my code`"),
        ("2 * 3 snake_case_name _a_", "2 * 3 snake_case_name A", [0, 1, 2, 3, 4],
         "2 * 3 snake_case_name _A_"),
        (r"\*no\* [a] **b", r"\*no\* [a] **b", [0, 1, 2], r"\*no\* [a] **b"),
        ("mail <me+x@a.org> **now**", "schreib nun", [0, 1], "schreib <me+x@a.org> **nun**"),
        ("![an icon](x.png) <https://a.b>", "ein Bild", [0, 1], "![ein Bild](x.png) <https://a.b>"),
        ("**[a](b)** c & d", "C A & d", [1, 0, 2, 3], "C **[A](b)** & d"),
        ("*a <b>x* y</b>", "*a x* y", [0, 1, 2], "*a <b>x* y</b>"),
        ("AT&T &lt;b>", "AT&T <b>", [0, 1], "AT&T &lt;b>"),
        ("see [the dog][1] now", "jetzt der Hund sehen", [3, 1, 2, 0],
         "jetzt [der Hund][1] sehen"),
        ("[the *dog*][] ![a cat][]", "der Hund eine Katze", [0, 1, 2, 3],
         "[der *Hund*][the *dog*] ![eine Katze][a cat]"),
        ("[![an icon][2]][3]", "ein Bild", [0, 1], "[![ein Bild][2]][3]"),
        ("[a] [d][e](f)", "[a] [d]E", [0, 1], "[a] [[d]E](f)"),
        ("[The house](x.md 'a t')", "das Haus", [0, 1], "[das Haus](x.md 'a t')"),
        ("[The house](x.md (a t))", "das Haus", [0, 1], "[das Haus](x.md (a t))"),
        (r'[The house](x.md "a \"t")', "das Haus", [0, 1], r'[das Haus](x.md "a \"t")'),
        ("[The house](<my file.md>)", "das Haus", [0, 1], "[das Haus](<my file.md>)"),
        ("- [ ] the task", "die Aufgabe", [0, 1], "- [ ] die Aufgabe"),
        ("[x] the task", "Aufgabe die", [1, 0], "[x] Aufgabe die"),
        ("a [ ](y) ` ` [](x)[&nbsp;](z)", "A", [0], "A [ ](y) ` ` [](x)[&nbsp;](z)"),
        ("<code>a *b* c*</code> d", "a b c D", [0, 1, 2, 3], "<code>a *b* c*</code> D"),
        ("5*3 a (*b*) c", "5*3 A (B) C", [0, 1, 2, 3], "5*3 A *(B)* C"),
        ("__a (__new__)__ b", "A NEU B", [0, 1, 2], "__A __NEU____ B"),
        ("__[__a__](<a b>)__ b", "A B", [0, 1], "__[__A__](<a b>)__ B"),
        ("&#42;a&#x2a; &lbrack;b](c) &amp;lt;", r"\*A\* \[B](c) &lt;", [0, 1, 2],
         r"\*A\* \[B](c) &amp;lt;"),
        ("&ast;a&ast; *b*", "*A* B", [0, 1], r"\*A\* *B*"),
        ("A dog[^1] is.", "ein Hund ist.", [0, 1, 2], "ein Hund[^1] ist."),
        ("[^1]: A dog [^2]", "ein Hund", [0, 1], "[^1]: ein Hund [^2]"),
    ],
)  # fmt: skip
def test_markdown(line, translation, links, expected):
    assert marked(line, translation, links, "markdown") == expected


@each_row(
    ("line", "translation", "links", "expected"),
    [
        ("the **a** **b**", "A B", [1, 2], "**A** **B**"),
        ("the `a`, `b`", "a b", [1, 2], "`a` `b`"),
        ("[see](x) **now**", "sieh", [0], "[sieh](x)"),
        ("a *b.*", "B.- A", [1, 0], "*B.-* A"),
        ("a **b**", "A b*_x", [0, 1], r"A **b\*\_x**"),
        ("see [it](x)", "das [ ! es", [0, 0, 0, 1], r"das \[ ! [es](x)"),
        ("come in", "Komm herein!", [0, 1], "Komm herein!"),
        ("**come** in", "Komm herein!", [0, 1], "**Komm** herein!"),
        ("go[^1] now", "los!", [0], r"los\![^1]"),
        (r"go\! [it](x)", r"los\! es", [0, 1], r"los\! [es](x)"),
        ("the **a** b", "A\\ B", [1, 2], r"**A\\** B"),
        ("path\\", "Pfad\\", [0], "Pfad\\"),
        (r"\<a> \&lt; *b*", r"\<a> \&lt; B", [0, 1, 2], r"\<a> \&lt; *B*"),
    ],
)  # fmt: skip
def test_what_markdown_would_misread(line, translation, links, expected):
    assert marked(line, translation, links, "markdown") == expected


@pytest.mark.parametrize(("said", "shown"), [("*", r"\*"), ("<i>", "&lt;i>")])
def test_text_beside_copied_code_is_escaped(said, shown):
    markup = Markup("the `a*b` **x**", "markdown", placeholders=True)
    words, weights = ["die", "\U000f0000", said, "x"], np.eye(4, 3)
    weights[3, 2] = 1
    text = placed(markup, " ".join(words), weights, words, markup.plain.split())
    assert text == f"die `a*b` **{shown} x**"


def test_a_run_has_whole_words():
    """Pieces of a word that attend elsewhere stay with it, but not with its neighbours."""
    markup, pieces = Markup("a <b>menu</b> c", "html"), ["Das", " Me", "nü", " da"]
    weights = np.array([[1, 0, 0], [0, 1, 0], [0.9, 0, 0.1], [0, 0, 1.0]])
    text = placed(markup, "".join(pieces), weights, pieces, markup.plain.split())
    assert text == "Das <b>Menü</b> da"


def test_a_word_belongs_to_one_element():
    """The other element takes the words that are left."""
    markup, pieces = Markup("a <b>menu</b> <i>card</i>", "html"), ["Die", " Me", "nü", "karte"]
    weights = np.eye(4, 3)
    weights[2:, 1:] = np.eye(2)
    text = placed(markup, "".join(pieces), weights, pieces, markup.plain.split())
    assert text == "<i>Die</i> <b>Menükarte</b>"


def test_copied_code_stays_in_the_text():
    assert Markup("the `a*b` **x**", "markdown", placeholders=True).plain == "the \U000f0000 x"
    assert Markup("the `a*b` **x**", "markdown").plain == "the a*b x"


_LIKE_MARKS = ["*", "_x", "y_", "a_b", "[x]", "`", "!", "](x)", "~~", "**b**", "-", "z", "a\\"]


class Tags(HTMLParser):
    """The tags of a text, and whether they nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.nested, self.text = [], [], True, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *attrs))
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, *attrs))

    def handle_endtag(self, tag):
        self.nested &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("seed", range(4))
def test_random_nestings_stay_well_formed(seed):
    """2,000 lines with random trees, translations and attention, against two parsers."""
    draw = np.random.default_rng(seed)
    for _ in range(500):
        line = random_line(draw)
        output, translation = random_placed(draw, line)
        before = ElementTree.fromstring(f"<root>{line}</root>")
        after = ElementTree.fromstring(f"<root>{output}</root>")
        assert shape(after) == shape(before), (line, output)
        words = "".join(after.itertext())
        assert re.sub(r"\s", "", words) == re.sub(r"\s", "", translation), (line, output)
        tags = Tags(output)
        assert tags.nested and not tags.open
        assert sorted(tags.tags) == sorted(Tags(line).tags)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_links_stay_links(seed):
    """800 lines with random links, translations and attention, against markdown-it-py."""
    draw = np.random.default_rng(seed)
    for _ in range(200):
        task = draw.choice(["", "- [ ] ", "[x] "])
        line = task + random_markdown(draw)
        output, translation = random_placed(draw, line, "markdown")
        assert output.startswith(task.strip())
        marks, words = markdown_shape(output[len(task) :])
        assert marks == markdown_shape(line[len(task) :])[0], (line, output)
        assert words == re.sub(r"\s", "", translation), (line, output)


@pytest.mark.parametrize("seed", range(4))
def test_random_emphasis_and_code_stay_marks(seed):
    """1,200 lines with words that look like marks, against markdown-it-py."""
    draw = np.random.default_rng(seed)
    emphasised = kept = 0
    for _ in range(300):
        line = random_emphasis(draw)
        output, translation = random_placed(draw, line, "markdown", _LIKE_MARKS)
        (before, _), (after, words) = marks_of(line), marks_of(output)
        assert after["code_inline"] == before["code_inline"], (line, output)
        assert after.keys() <= before.keys(), (line, output)
        for name in ("strong_open", "em_open"):
            assert after[name] <= before[name], (line, output)
            emphasised, kept = emphasised + before[name], kept + after[name]
        if not before["code_inline"] and "\\" not in translation:  # it escapes
            assert words == re.sub(r"\s", "", translation), (line, output)
    assert kept > 0.7 * emphasised  # emphasis is left out if no words are left for it


@pytest.mark.parametrize(
    "line",
    [
        "`[dog]` [dog](x) [dog][1] [a][dog] [cat] [^dog] <a b='[dog]'> \\[dog]",
        "[a](b '[dog]')",
    ],
)
def test_defined_labels(line):
    assert with_references(line, "dog".__eq__) == line
    assert with_references(f"![dog] {line}, [[dog]]", "dog".__eq__) == f"![dog][] {line}, [[dog]]"


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        "](<",
        '](a "',
        "](a '",
        "](a (",
        "][",
        "[^",
        "](",
        "[a][](b",
        "](a  ",
        "<!--",
        "<?",
        "{{",
        "$a",
        "{% raw %}",
        ":a",
        "{/*",
        "<b translate=no><i translate=yes>",
        "http://a(",
    ],
)
def test_marks_are_found_in_linear_time(line):
    """Quadratic time would be minutes."""
    for text in (line * 50_000, line + "a" * 200_000, line + " " * 200_000):
        assert Markup(text, "markdown").plain


class Counted(str):
    """A key of marks that counts how often one is compared or looked at."""

    count = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.count += 1
        return str.__eq__(self, other)

    def __getitem__(self, place):
        Counted.count += 1
        return str.__getitem__(self, place)


@pytest.mark.parametrize("line", ["<b>", "<b>a</b>", "[", "*a ", "<b>*a</b>"])
def test_pairing_marks_takes_linear_time(line, monkeypatch):
    role = Markup._role

    def counted(self, match, found):
        key, *more = role(self, match, found)
        return (Counted(key), *more)

    monkeypatch.setattr(Markup, "_role", counted)
    counts = []
    for times in (100, 200):
        Counted.count = 0
        Markup(line * times, "markdown")
        counts.append(Counted.count)
    assert 0 < counts[1] <= 2.2 * counts[0]


@pytest.mark.parametrize("form", ["html", "markdown"])
@pytest.mark.parametrize("line", ["<b>" * 2000 + "a", "<b>" * 1500 + "a" + "</b>" * 1500])
def test_marks_may_be_nested_deeply(line, form):
    markup = Markup(line, form)
    text = placed(markup, "A", np.ones((1, 2)), ["A"], ["a"])
    assert text.count("<b>") == line.count("<b>") and "A" in text
