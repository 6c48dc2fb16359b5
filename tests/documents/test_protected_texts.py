"""Text that is not prose stays as it is, once, for every syntax and every translator."""

import re

import pytest
from fake_translations import TRANSLATORS, translated
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.documents.markup import Markup
from cgru_cli.documents.protected import block_end, frame, hidden, protected

# Inline texts with the word `kept` where they have words, by form.
BOTH = [
    "<kbd>kept</kbd>", "<samp>kept <b>kept</b></samp>", "<var>kept</var>",
    "<code>kept  kept</code>", "<tt>kept</tt>",
    "<time datetime='2020-01-01'>kept 1</time>", "<math><mi>kept</mi></math>",
    "<svg viewBox='0 0 1 1'><title>kept</title></svg>", '<b translate="no">kept kept</b>',
    "<span class='a notranslate'>kept <i>kept</i></span>", "<KBD>kept</KBD>",
    "<script>if (kept < 1) { '<p>kept' }</script>", "<style>p > kept {}</style>",
    "<textarea>kept <b> kept</textarea>", "<pre>kept\n  kept</pre>", "<template>kept</template>",
    "<!-- kept > kept -->", "<![CDATA[ kept < kept ]]>", "<?php echo 'kept' ?>", "<%= kept %>",
    "{{ kept.kept | upper }}", "{{{ kept }}}", "{% include kept.html a='b' %}", "{# kept #}",
    "{{< figure src=\"kept.png\" >}}", "{{% kept %}}", "{{#if kept}}", "${kept.kept}",
    "{% raw %}{{ kept }} kept{% endraw %}", "{{< highlight go >}}kept kept{{< /highlight >}}",
    "https://kept.org/a_b(c)?d=*e*&f", "www.kept.org/a", "kept.kept@example.org",
    r"\(x_1 = kept\)", r"\[\frac{kept}{b}\]", "$$kept + b$$", r"\begin{a}kept\end{a}",
    "\U000f0003",
]  # fmt: skip
MARKDOWN = [
    *BOTH, "`kept * kept`", "``kept ` kept``", "{ref}`kept kept`", ":ref:`kept <kept>`",
    "<https://kept.org>", "<kept@example.org>", "$kept_1$", "$x$", "$a_b + *c*$", "{kept}",
    "{props.kept(a => {kept})}", "{/* kept kept */}", "{#kept-id}", "{: .kept #a }", "{.kept}",
    "[^kept]", "[[Kept page]]", "[[kept|the kept]]", "![[kept.png]]", "[@kept2020, p. 3]", "@kept",
    ":kept_smile:", ":+1:", "{% kept_tag \"kept kept\" %}", "[](kept.md)", "![](kept.png)",
    "[`kept`](https://kept.org/a 'kept')", "[](/{{ kept }}/x)",
]  # fmt: skip
SYNTAXES = [*(("html", one) for one in BOTH), *(("markdown", one) for one in MARKDOWN)]
FRAMES = [
    "One {} two three.", "{} one two", "one two {}", "one <b>two {}</b> three", "({}) one",
    "one ({})",
]  # fmt: skip


def check(line, form, texts, **how):
    """Each of the different texts is in the translation of the line once, and not in its words."""
    found = translated(line, form, **how)
    for one in texts:
        assert found.count(one) == line.count(one), (line, found, how)


def test_every_syntax_is_kept_once():
    for form, text in SYNTAXES:
        for frame_of in FRAMES:
            line = frame_of.format(text)
            for placeholders in (False, True):
                plain = Markup(line, form, placeholders=placeholders).plain
                shown = {one.words for one in protected(line, form)} - {""}
                assert "kept" not in plain.lower() or (shown and not placeholders), (line, plain)
                for translator in TRANSLATORS:
                    check(line, form, [text], translator=translator, placeholders=placeholders)


def test_a_text_is_where_the_attention_has_it():
    for form, line, placeholders, wanted in [
        ("html", "press <kbd>F1 key</kbd> for help", True, "HELP FOR <kbd>F1 key</kbd> PRESS"),
        ("html", "press <kbd>F1</kbd> for help", False, "HELP FOR <kbd>F1</kbd> PRESS"),
        ("markdown", "see $x$ and `y z` now", True, "NOW `y z` AND $x$ SEE"),
        ("markdown", "**press `F1`** for help", True, "HELP FOR **`F1` PRESS**"),
        ("markdown", "Good morning![^1]", False, "MORNING! GOOD[^1]"),
    ]:
        assert translated(line, form, "reversed", placeholders=placeholders) == wanted


def test_elements_to_be_translated_inside_protected_ones():
    line = "<i translate=no>kept <b translate=yes>a</b> kept <u translate=''>b</u> kept</i> c"
    assert Markup(line, "html").plain.split() == ["a", "b", "c"]
    for translator in TRANSLATORS:
        found = translated(line, "html", translator, placeholders=True)
        pieces = ["<i translate=no>kept <b translate=yes>", "</b> kept <u translate=''>"]
        places = [found.find(one) for one in (*pieces, "</u> kept</i>")]
        assert -1 < places[0] < places[1] < places[2], (translator, found)


def test_blocks_stay_where_they_are():
    line = "<!DOCTYPE html><p>one two</p><style>p {}</style><p>three</p><script>f()</script>"
    for translator in ("same", "each twice", "every other", "nothing"):
        found = translated(line, "html", translator, placeholders=False)
        assert found.startswith("<!DOCTYPE html>") and "</p><style>" in found.replace(" ", ""), (
            found
        )
        assert re.search(r"</p> ?<script>f\(\)</script>", found), found


def test_prose_that_looks_like_a_syntax_is_translated():
    for line in [
        "costs $5 or $10", "from $100k and 200$ up", r"\[optional\] text", r"\$5 and \$6",
        "at 10:30:45 now", "a {word and a word} b", "*a* _b_ [c](d.md) e", "# Title", "> said",
        "- item", "the <b>word</b>", "export default settings now", "import this, please",
        "12. May", "5 * 3 < 4", "a ``b", "note: this", r"\(see there\)",
        "100 % {", "the <code> tag", "$5 или 7$ в день",
    ]:  # fmt: skip
        assert not hidden(line, "markdown")[1], line
        words = re.findall(r"[^\W\d_]{3,}", re.sub(r"<[^>]*>|\([a-z.]*\)", "", line))
        assert all(one in Markup(line, "markdown").plain for one in words), line


def test_markers_of_lines():
    for line, title in [
        ("> [!WARNING]", ""), ("[!note]- A title", "A title"), ("::: warning A title", "A title"),
        (":::note[A title]{#a}", "A title"), (":::tip", ""), (":::", ""), (":::{note} A", "A"),
        (":::{figure} a.png", ""), ("::: {.callout title=x}", ""), ('!!! note "A b"', "A b"),
        ("??? info", ""), ('=== "Tab"', "Tab"), ("*[HTML]: Mark up", "Mark up"), ("[TOC]", ""),
        ("(label-a)=", ""), ("import A from '@b/c';", ""), ("export const a = 1;", ""),
        ("export default function A() {", ""), ("|---|:-:|", ""), ("---", ""), ("```python", ""),
        ("[a]: https://b.c 'Title'", ""), ("- [ ] task", "task"), ("> - ## A", "A"),
        ("[^1]: A note", "A note"), ("A paragraph.", "A paragraph."), ("*a* b", "*a* b"),
    ]:  # fmt: skip
        before, prose, after = frame(line)
        assert (before + prose + after, prose) == (line, title), line


def test_blocks_without_prose():
    for block, rest in [
        ("$$\na = b\n$$", "\nc"), ("{{< a\n  b=1\n>}}", "\nc"), ("{% a %} {% b %} ", "\nc"),
        ("{% raw %}\n\na\n{% endraw %}", ""), (":::{math}\na\n:::", "\nb"), ("", "{% a %} b"),
        ("", "$$\n\na\n$$"), ("", "`a`"), ("", "a"), ("{/* a\n b */}", ""),
        ("import {\n  A,\n} from 'b';", "\nc"), ("\\[\na_1\n\\]", "\nc"), ("", "<b>a</b>"),
        ("export const a = {\n  b: 1,\n\n};", "\nc"), ("", "export the data (\nand"),
    ]:  # fmt: skip
        assert block_end(block + rest, 0, len(block + rest)) == (len(block) or None), block + rest


@st.composite
def lines(draw, form):
    """A line, and its protected texts; marks around them are nested up to three deep."""
    texts = []

    def part(depth):
        kind = draw(st.integers(0, 5))
        if kind < 2 or depth > 3:
            return draw(st.sampled_from(["one", "two.", "three, four", "5"]))
        if kind < 4:
            one = draw(st.sampled_from(BOTH if form == "html" else MARKDOWN))
            one = one.replace("kept", f"kept{len(texts)}")
            texts.append(one)
            return one
        marks = [("<b>", "</b>"), ("<i a='b'>", "</i>")]
        marks += [("**", "**"), ("[", "](x.md)")] if form == "markdown" else [("<p>", "</p>")]
        before, after = draw(st.sampled_from(marks if depth == 0 else marks[:2]))
        return before + inside(depth + 1) + after

    def inside(depth):
        return " ".join(part(depth) for _ in range(draw(st.integers(1, 4))))

    return inside(0), texts


@pytest.mark.parametrize("form", ["html", "markdown"])
@given(data=st.data(), placeholders=st.booleans(), noise=st.sampled_from([0.0, 0.5, 1.0]))
def test_generated_lines(form, data, placeholders, noise):
    line, texts = data.draw(lines(form))
    translator = data.draw(st.sampled_from(list(TRANSLATORS)))
    check(
        line, form, texts, translator=translator, placeholders=placeholders, noise=noise,
        seed=data.draw(st.integers(0, 99)),
    )  # fmt: skip
