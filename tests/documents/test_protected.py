"""Protected text of whole documents: generated ones, and pieces of public files."""

import re

from fake_translations import TRANSLATORS, translated
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.documents.markup import Markup
from cgru_cli.documents.reader import document_of

INLINE = ["`k0`", "$k_0$", "{{< k0 a=\"b\" >}}", "{{ k0 }}", "<kbd>k0</kbd>", "https://k0.org/a",
          "[^k0]", "{ref}`k0`", "<b translate=no>k0</b>", "{% k0\n  a %}", "`k0\nk0`"]  # fmt: skip
BLOCKS = [
    "$$\nk0\n$$", "{{< k0\n  a=1 >}}", "{% raw %}\nk0 {{ k0 }}\n{% endraw %}", "```k0\nk0\n```",
    "<!-- k0\n\nk0 -->", "import K0 from 'k0';", "{{% k0 %}}", "{: .k0}", "[k0]: https://k0.org",
    ":::{code-block} k0\nk0\n:::", "<script>\nk0\n\n</script>", "\\[\nk_0\n\\]", "[TOC]",
    "<table translate=no><tr><td>k0</table>", ":::k0", "{/* k0 */}",
]  # fmt: skip
HTML_BLOCKS = ["<script>k0 < 1</script>", "<style>\nk0 {}</style>", "<pre>k0\n  k0</pre>",
               "<!DOCTYPE k0>", "<div translate=no>k0 <p>k0</div>", "<p class=notranslate>k0</p>",
               "<textarea>k0\n</textarea>", "<![CDATA[k0]]>", "<?php k0 ?>"]  # fmt: skip
HTML_INLINE = ["<kbd>k0\n k0</kbd>", "<code>k0  k0</code>", "{{ k0 }}", "https://k0.org/a",
               "<span translate=no>k0 <b>k0</b></span>", "<!-- k0\nk0 -->", "<math>k0</math>",
               "<time>k0</time>", "\\(k_0\\)", "<var>k0</var>"]  # fmt: skip


@st.composite
def documents(draw, inline, blocks, paragraph):
    """Protected texts of paragraphs and blocks, in the order of the document, and its content."""
    found, content = [], []
    for number in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            one = draw(st.sampled_from(blocks)).replace("k0", f"k{number}").replace("K0", "K")
            found.append([one])
            content.append(one)
            continue
        some = draw(st.lists(st.sampled_from(inline), max_size=3))
        some = [one.replace("0", f"{number}x{place}") for place, one in enumerate(some)]
        found.append(some)
        content.append(paragraph.format(" and ".join(["the first", *some, "last word."])))
    return found, content


def written(name, text, translator, **how):
    document = document_of(name, text.encode())
    form = document.form or "html"
    return document.written([translated(x, form, translator, **how) for x in document.segments])


def in_order(output, found):
    """Each text is in the output once; texts of different blocks are in their order."""
    place = 0
    for texts in found:
        places = [output.find(one, place) for one in texts]
        assert -1 not in places, (texts, output)
        place = max([place, *(at + len(one) for at, one in zip(places, texts, strict=True))])
    for one in (one for texts in found for one in texts):
        assert output.count(one) == sum(texts.count(one) for texts in found), (one, output)


HOW = {
    "translator": st.sampled_from(list(TRANSLATORS)),
    "placeholders": st.booleans(),
    "noise": st.sampled_from([0.0, 1.0]),
}


@given(made=documents(INLINE, BLOCKS, "{}"), prefix=st.sampled_from(["", "> ", "  "]), **HOW)
def test_generated_markdown(made, prefix, **how):
    """Also in quotations and list items."""
    found, content = made

    def within(text):
        return text.replace("\n", f"\n{prefix}")

    text = prefix + within("\n\n".join(content)) + "\n"
    if prefix == "  ":
        text = f"- {text[2:]}"
    output = written("a.md", text, **how).decode()
    in_order(output, [[within(one) for one in texts] for texts in found])


@given(made=documents(HTML_INLINE, HTML_BLOCKS, "<p>{}</p>"), **HOW)
def test_generated_pages(made, **how):
    found, content = made
    in_order(written("a.html", "\n".join(content), **how).decode(), found)


REAL = [  # repository and file; text; parts to keep, in their order; words of the segments
    ("kubernetes/website, assign-memory-resource.md",
     "{{% prerequisites-heading %}}\n\n\n{{< include \"task-tutorial-prereqs.md\" >}} "
     "{{< version-check >}}\n\nEach node must\n",
     ["{{% prerequisites-heading %}}", '{{< include "task-tutorial-prereqs.md" >}}',
      "{{< version-check >}}"], ["Each node must"]),
    ("kubernetes/website, assign-memory-resource.md",
     "assigned the default limit. Use\n[LimitRange](/docs/kubernetes-api/{{< param \"version\" >}}"
     "/#limitrange-v1-core)\nto specify\n",
     ['](/docs/kubernetes-api/{{< param "version" >}}/#limitrange-v1-core)'],
     ["assigned the default limit. Use LimitRange to specify"]),
    ("gohugoio/hugoDocs, quick-start.md",
     "{{% note %}}\nThis quick start uses `macOS` in the examples.\n{{% /note %}}\n\n"
     "{{< asciicast ItACREbFgvJ0HjnSNeTknxWy9 >}}\n",
     ["{{% note %}}", "`macOS`", "{{% /note %}}", "{{< asciicast ItACREbFgvJ0HjnSNeTknxWy9 >}}"],
     ["This quick start uses in the examples."]),
    ("jekyll/jekyll, posts.md",
     "![My helpful screenshot]({% raw %}{{ site.url }}{% endraw %}/assets/screenshot.jpg)\n",
     ["]({% raw %}{{ site.url }}{% endraw %}/assets/screenshot.jpg)"], ["My helpful screenshot"]),
    ("jekyll/jekyll, posts.md",
     "You can skip the <code>{% raw %}{{ site.url }}{% endraw %}</code> variable\n",
     ["<code>{% raw %}{{ site.url }}{% endraw %}</code>"], ["You can skip the variable"]),
    ("vuejs/docs, template-syntax.md",
     "<script setup>\n  const raw = '<b>red</b>'\n</script>\n\n:::warning Security "
     "Warning\nOnly use `v-html` on trusted content.\n:::\n",
     ["<script setup>\n  const raw = '<b>red</b>'\n</script>", ":::warning ", "\n:::\n"],
     ["Security Warning", "Only use on trusted content."]),
    ("facebook/docusaurus, markdown-features-admonitions.mdx",
     "import Tabs from '@theme/Tabs';\nimport TabItem from '@theme/TabItem';\n\n"
     "## Specifying title {#specifying-title}\n\n:::note Your Title\n\n"
     "Some **content** with _Markdown_.\n\n:::\n",
     ["import Tabs from '@theme/Tabs';", "import TabItem from '@theme/TabItem';",
      " {#specifying-title}", ":::note "],
     ["Specifying title", "Your Title", "Some content with Markdown."]),
    ("executablebooks/MyST-Parser, math.md",
     "Since Pythagoras, we know that {math}`a^2 + b^2 = c^2`.\n\n$$\n(a + b)^2  &=  (a + b)^2\n$$ "
     "(mymath2)\n\n:::{admonition} Escaping Dollars\n:class: tip dropdown\n\nAs `\\$a$` or "
     "$a=\\$3$.\n:::\n\n\\begin{align}\na_{11}& =b_{11}\n\\end{align}\n",
     ["{math}`a^2 + b^2 = c^2`", "$$\n(a + b)^2  &=  (a + b)^2\n$$ (mymath2)",
      ":::{admonition} ", ":class: tip dropdown", "`\\$a$`", "$a=\\$3$",
      "\\begin{align}\na_{11}& =b_{11}\n\\end{align}"],
     ["Since Pythagoras, we know that", "Escaping Dollars", "As or"]),
    ("d2l-ai/d2l-en, linear-algebra.md",
     "# Linear Algebra\n:label:`sec_linear-algebra`\n\n"
     "the terms---$5$, $9$, and $32$---are $c = \\frac"
     "{5}{9}(f - 32)$\n\n$$\\mathbf{A}^\\top =\n\\begin{bmatrix}\n a_{11} \\\\\n\\end{bmatrix}.\n"
     "$$\n:eqlabel:`eq_matrix_def`\n\nin :eqref:`eq_matrix_def`\n",
     [":label:`sec_linear-algebra`", "$5$", "$c = \\frac{5}{9}(f - 32)$",
      "$$\\mathbf{A}^\\top =\n\\begin{bmatrix}\n a_{11} \\\\\n\\end{bmatrix}.\n$$\n"
      ":eqlabel:`eq_matrix_def`",
      ":eqref:`eq_matrix_def`"], ["Linear Algebra", "the terms---, , and ---are", "in"]),
    ("squidfunk/mkdocs-material, admonitions.md",
     "[:octicons-heart-fill-24:{: .tx-heart } Insiders only][12]{: .tx-insiders }\n\n"
     '!!! note "Phasellus posuere"\n\n    Lorem ipsum dolor.\n\n??? note\n    Nulla.\n\n'
     "  [12]: ../in.md\n",
     [":octicons-heart-fill-24:{: .tx-heart }", "][12]{: .tx-insiders }", '!!! note "', '"\n\n    ',
      "??? note\n    ", "  [12]: ../in.md"],
     ["Insiders only", "Phasellus posuere", "Lorem ipsum dolor.", "Nulla."]),
    ("MicrosoftDocs/azure-docs.it-it, backup-azure-restore-windows-server.md",
     "1. Scegliere\n   > [!IMPORTANT]\n   > L'opzione richiede\n\n   > [!TIP]\n   > Un'opzione\n",
     ["   > [!IMPORTANT]\n   > ", "   > [!TIP]\n   > "],
     ["Scegliere", "L'opzione richiede", "Un'opzione"]),
    ("WolframInstitute/GAPLink, README.md",
     "> [!IMPORTANT]\n> This repository contains the paclet only.\n> It does not start GAP.\n",
     ["> [!IMPORTANT]\n> "], ["This repository contains the paclet only. It does not start GAP."]),
]  # fmt: skip


def test_pieces_of_public_files():
    for source, text, kept, words in REAL:
        document = document_of("a.mdx", text.encode())
        plain = [Markup(one, "markdown", placeholders=True).plain for one in document.segments]
        plain = [re.sub("[\U000f0000-\U0010ffff]", "", one) for one in plain]
        letters = [[re.findall(r"\w+", one) for one in lines] for lines in (plain, words)]
        assert letters[0] == letters[1], source
        assert document.written(document.segments).decode() == text, source
        for translator in TRANSLATORS:
            output = written("a.mdx", text, translator, placeholders=True).decode()
            for one in kept:
                assert output.count(one) == text.count(one) > 0, (source, one, output)


PAGES = [  # of HTML: source; text; parts to keep
    ("phphleb/hleb, Paragraph of the game",
     '<p>\n Dans le framework <span class="notranslate">HLEB2</span> il y a un jeu.\n</p>\n'
     '<p class="hl-bash-block"><span class="hl-not-selected notranslate">$</span></p>',
     ['<span class="notranslate">HLEB2</span>',
      '<span class="hl-not-selected notranslate">$</span>']),
    ("doocs/leetcode, average-waiting-time",
     '<div class="notranslate"><p>有&nbsp;<code>customers</code></p>\n<ul>\n</ul></div>\n<p>a</p>',
     ['<div class="notranslate"><p>有&nbsp;<code>customers</code></p>\n<ul>\n</ul></div>']),
    ("WHATWG, HTML, 4.5.18 The kbd element",
     "<!DOCTYPE html>\n<p>To make George eat an apple, press <kbd><kbd>Shift</kbd> + "
     "<kbd>F3</kbd></kbd></p><pre>a\n  <samp>b</samp></pre>",
     ["<!DOCTYPE html>", "<kbd><kbd>Shift</kbd> + <kbd>F3</kbd></kbd>",
      "<pre>a\n  <samp>b</samp></pre>"]),
    ("W3C, Internationalization: Using translate",
     '<p>Click the Resume button on the <span translate="no">Status Display</span> or the\n'
     '<span class="panelmsg" translate="no">CONTINUE</span> button on the panel.</p>',
     ['<span translate="no">Status Display</span>',
      '<span class="panelmsg" translate="no">CONTINUE</span>']),
    ("MathJax documentation, Writing Mathematics",
     "<p>When \\(a \\ne 0\\), there are two solutions to \\(ax^2 + bx + c = 0\\) and they are "
     "$$x = {-b \\over 2a}.$$</p><script>\nMathJax = {tex: {inlineMath: [['$', '$']]}};\n</script>",
     ["\\(a \\ne 0\\)", "\\(ax^2 + bx + c = 0\\)", "$$x = {-b \\over 2a}.$$",
      "<script>\nMathJax = {tex: {inlineMath: [['$', '$']]}};\n</script>"]),
]  # fmt: skip


def test_pieces_of_public_pages():
    """As a document, and as a text of the server."""
    for source, text, kept in PAGES:
        for translator in TRANSLATORS:
            for placeholders in (False, True):
                how = {"translator": translator, "placeholders": placeholders}
                outputs = [written("a.html", text, **how).decode(), translated(text, "html", **how)]
                for one in kept:
                    assert [output.count(one) for output in outputs] == [1, 1], (source, one)
