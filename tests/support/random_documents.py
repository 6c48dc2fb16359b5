"""Random documents with protected parts, and checks that random translations keep them.

Each protected part has a number of five digits that no other part has; words of prose have fewer
digits. A group is the parts of one paragraph (or line, cell, message), which stay in one segment.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import polib
from fake_translations import placed
from lxml import etree
from pyicumessageformat import Parser

from cgru_cli.documents.markup import Markup
from cgru_cli.documents.protected import STANDING
from cgru_cli.documents.reader import document_of

_WORDS = (
    "the first house three, four don't (see) one. 50% über word said: well-known and 日本語 AT&T "
    "no! 12 it's C# 1:30 e.g. A/B"
).split()
_OF_MARKDOWN = ["$5", "a_b", "x < y", "5 * 3", "&lt;", "[sic]", "3 > 2", r"\*", r"\[optional\]"]
_OF_HTML = ["&amp;", "&nbsp;", "&#233;", "x &lt; y", "5 > 3", "$5", "*a*", "_b_", "`", "[c]"]
# Words that a translator adds: marks of every syntax, and characters that stand for texts.
_INVENTED = (
    "* ** _ ~~ ` `` [ ] ![ ](x) <b> </b> </x0> <x0> <x1/> </code> <code> & &amp; < > { } {{ }} {% "
    "$ $$ \\ \\( | # - 1. + > = ''' ' '{ %s %d %% {0} :x: @ ::: !!! <!-- --> <br/> &x _a \x02 \x00 "
    "\U000f0000 \U000f0001 \U000f0002 \U0010fffd :"
).split(" ")
_OTHERS = "[^\\s\U000f0000-\U0010ffff]+"
_CHAOS = ["<b>", "</i>", "$", "{", "}", "*", "[", "](", "\\", "'", "&lt;", "@a", "|", "#}", "]"]

# Inline syntaxes: § is the number, ¤ another part or words, ¢ marks without meaning.
_ELEMENTS = [
    "<kbd>Ctrl-§</kbd>", "<kbd><kbd>Shift</kbd>+<kbd>§</kbd></kbd>", "<samp>§ ¤</samp>",
    "<var>v§</var>", "<code>§  ¤</code>", "<tt>§ ¤</tt>", "<time datetime='§'>§ May</time>",
    "<math><mi>§</mi><mo>&lt;</mo></math>", '<b translate="no">§ ¤</b>', "<KBD >§</KBD>",
    "<svg viewBox='0 0 § 1'><title>§</title><style>a > b {c: §}</style></svg>",
    "<span class='a notranslate'>§ <i>¤</i></span>", "<i translate=no>§ <u>¤</u> <br> §</i>",
    "<a href='§>' class=\"notranslate\">¤</a>", "<code class='a>b'>§ ¤</code>",
]  # fmt: skip
_RAW = [
    "<script>if (§ < 1) { '<p>' } ¢</script>", "<style>p > b§ {}</style>",
    "<textarea>§ <b> ¢</textarea>", "<!-- § > ¢ -->", "<![CDATA[ § < ¢ ]]>", "<?php § ?>",
    "<%= § ¢ %>", "{% raw %}{{ § }} ¢{% endraw %}", "{% highlight a %}§ ¢ {% endhighlight %}",
    "{{< highlight go >}}§ ¢{{< /highlight >}}", "{%- raw -%}§{%- endraw -%}",
]  # fmt: skip
_SIGNS = [
    "{{ a.§ | upper }}", "{{{ § }}}", "{% a §.html b='c' %}", "{# § #}", "{{% fig § %}}",
    '{{< fig n="§" >}}', "{{#if a§}}", "{{/if§}}", "${a.§}", "https://§.org/a_b(c)?d=*e*&f",
    "www.a§.org/b", "a.b§@example.org", r"\(x_1 = §\)", r"\[\frac{§}{b}\]", "$$§ + b$$",
    r"\begin{a*}§ & b\end{a*}", "ftp://a.org/~§", "{{ '§ <b>' }}", "https://a.org/{{ § }}/x",
]  # fmt: skip
_MARKDOWN = [
    "`§`", "`§ * ¢`", "`` § ` ¢``", "{ref}`a §`", ":ref:`a <§>`", "<https://§.org/¤>",
    "<a§@example.org>", "$§_1$", "$a_{§} + *c* \\$$", "{a§}", "{a.b(c => {§})}", "{/* § */}",
    "{#a-§}", "{: .a§ #b }", "{.a§}", "[^§]", "[[A §]]", "![[§.png]]", "[@a§, p. 3]", "@a§",
    ":a_§:", "[](§.md)", "![](§.png)", "[`§`](https://a.org/§ 'b')", "`§`{.py}", "[@a§]",
    "{{ `§` }}", "$\\text{a § b}$", "<kbd>`§`</kbd>", "<code>*§*</code>", "`{{ § }}`", "`$§$`",
    "`<b> §`", "$`§`$", "[[§|a]]", "{a.b§ `c`}", "$x§ | y$", "`§ | a`",
]  # fmt: skip
_BROKEN = ["`§\n§`", "{% §\n a %}", "<!-- §\na -->", "<b translate=no>§\n§</b>", "$§ +\nb$",
           "<kbd>§\na</kbd>", '{{< a\nb="§" >}}', "{{ §\n}}"]  # fmt: skip
_HTML = [*_ELEMENTS, *_RAW, *_SIGNS, *(x for x in _BROKEN if x[0] not in "`$")]

# Marks around prose; these, too, come out once.
_MARKS = {
    "html": [("<b>", "</b>"), ("<a href='§'>", "</a>"), ('<i a="§ >">', "</i>"),
             ("<span>", "</span>"), ("<em id=§>", "</em>")],
    "markdown": [("**", "**"), ("*", "*"), ("[", "](§.md)"), ("[", "](a_b(§) 't')"), ("~~", "~~"),
                 ("<b>", "</b>"), ("<a href='§'>", "</a>"), ("![", "](§.png \"a b\")"),
                 ("[", "](</{{ § }} x>)"), ("[", "][§]"), ("<A b={§}>", "</A>")],
}  # fmt: skip
_MARKDOWN_BLOCKS = [
    "$$\n§\n$$", "$$\n§ \\\\\n$$ (a§)", "{{< §\n  a=1 >}}", "{% raw %}\n§ {{ a }}\n{% endraw %}",
    "```§\na ¢\n```", "~~~ {.§}\n```\n~~~", "<!-- §\n\n¢ -->", "import A from '§';",
    "import {\n  A§,\n} from 'b';", "export const a = {\n  b: §,\n};", "{{% § %}}", "{: .a§}",
    "[a§]: https://a.org", "[b§]: <a b> 'c d'", ":::{code-block} §\n§ ¢\n:::",
    "<script>\n§\n\n¢</script>", "\\[\nx_{§}\n\\]", "<table translate=no><tr><td>§</table>",
    ":::a§", "{/* § ¢ */}", "<style>\n§\n</style>", "***\n\n    § code", "![](§.png)", "`§`",
    "<div class='notranslate'>\n§ <p>a</p>\n</div>", "\\begin{a}\n§\n\\end{a}", "{{ § }}",
    "<!DOCTYPE §>", "<?a § ?>", "| `§` |\n|---|\n| 1 |", "export * from '§'", "<A b={§} />",
    "(a§)=", "{% if a§ %}", "{% § %} {{ b }}", "<!-- § --> <!-- a -->", "[//]: # (§)",
]  # fmt: skip
_HTML_BLOCKS = [
    "<script>§ < 1; '<p>' ¢</script>", "<style>\n§ {}</style>", "<pre>§\n  <b>¢</b></pre>",
    "<!DOCTYPE §>", "<div translate=no>§ <p>¤</div>", "<p class=notranslate>§</p>",
    "<textarea>§\n¢</textarea>", "<![CDATA[§]]>", "<?php § ?>", "<template><p>§</p></template>",
    "<noscript><p>§</p></noscript>", "<iframe src='§'>a</iframe>", "<!-- § <p>¢</p> -->",
    "<ul translate='no'><li>§<li>¤</ul>", "<script type='a'>\n\n§</script>", "<hr id=§>",
    "<table class='a skiptranslate'><tr><td>§<td>¤</table>", "<img alt='' src='§'>",
    "<math display=\"block\"><mi>§</mi></math>", "{% § %}", "<head><meta a='§'></head>",
    "<link href=§>", "<p>{{ § }}</p>", "<p><kbd>§</kbd></p>", "<li translate=no>§",
]  # fmt: skip
_AROUND = [  # blocks of HTML around prose
    ("<p>", "</p>"), ("<h2 id=§>", "</h2>"), ("<li>", "</li>"), ("<td a='§'>", "</td>"),
    ("<div><p>", "</p></div>"), ("<blockquote>\n", "\n</blockquote>"), ("<dl><dt>", "</dl>"),
    ("<ul>\n<li>", "</li>\n</ul>"), ("<p title='§ < 1'>", ""),
    ("<section class='§'>", "</section>"),
    ("<figcaption>", "</figcaption>"), ("<table><tr><th>", "</table>"), ("<option>", "</option>"),
]  # fmt: skip
_PREFIXES = ["", "", "", "# ", "## ", "- ", "1. ", "> ", "- [ ] ", "> - ", "* - ", "[^9]: ", "+ "]
_TITLED = [":::note {}\n\na word\n\n:::", '!!! note "{}"\n\n    a word', "> [!NOTE] {}\n> a word",
           "::: tip {}\na word\n:::", '=== "{}"\n\n    a word', "*[AB]: {}"]  # fmt: skip


# Parts whose words models without placeholders read
_READ = re.compile(r"<[a-zA-Z]|\[?`|\{\w+\}`|:\w+:`")


@dataclass
class Made:
    """A document: its name and content, and the protected parts of its groups, in their order."""

    name: str
    content: str
    groups: list[list[str]] = field(default_factory=list)


class _Maker:
    def __init__(self, draw: Random, form: str):
        self.draw, self.form, self._number = draw, form, 10000
        self.inline = _HTML if form == "html" else [*_HTML, *_MARKDOWN, *_BROKEN]
        self.words = [*_WORDS, *(_OF_HTML if form == "html" else _OF_MARKDOWN)]

    def number(self, text: str) -> str:
        self._number += "§" in text
        return text.replace("§", str(self._number))

    def prose(self, most: int = 4) -> str:
        return " ".join(self.draw.choices(self.words, k=self.draw.randint(1, most)))

    def part(self, texts: Sequence[str], *, in_cell: bool = False) -> str:
        """One of these syntaxes, perhaps with others inside."""
        text = self.number(self.draw.choice(texts))
        while "¤" in text:
            inner = self.number(self.draw.choice(["a b", "a", *_SIGNS, *_RAW[3:]]))
            if text.startswith("<http"):
                inner = "a"
            elif inner.startswith("<!") or "</" in inner:
                inner = "<br>"
            text = text.replace("¤", inner.replace("¢", "a"), 1)
        while "¢" in text:
            chaos = self.draw.choice(_CHAOS)
            if ("]]>" in text and "]" in chaos) or ("#}" in chaos and "{#" in text):
                chaos = "a"
            text = text.replace("¢", chaos, 1)
        if in_cell and ("|" in text or "\n" in text):
            return self.part(texts, in_cell=True)
        return text

    def _sign(self, group: list[str]) -> str:
        """A protected part that may stand in a link, or a word."""
        one = self.part(["`§`", "$a_§$", "<kbd>§</kbd>", "{{ § }}", "word"])
        group += [one] if one != "word" else []
        return one

    def line(self, group: list[str], depth: int = 0, *, in_cell: bool = False) -> str:
        """Words, protected parts and marks with such lines inside; adds the parts to the group."""
        pieces = []
        for _ in range(self.draw.randint(1, 3 if depth else 4)):
            kind = self.draw.random()
            if kind < 0.35 or (kind > 0.75 and depth > 1):
                pieces.append(self.prose())
            elif kind <= 0.75:
                one = self.part(self.inline, in_cell=in_cell)
                group.append(one)
                around = ["{}", "{}", "{}", "({})", "{},", "{}.", "\u201c{}\u201d", "word {} word"]
                pieces.append(self.draw.choice(around).replace("{}", one))
            else:
                before, after = map(self.number, self.draw.choice(_MARKS[self.form]))
                group += [x for x in (before, after) if re.search(r"\d{5}", x)]
                if before[-1] == "[":  # links are not nested
                    inner = f"{self.prose(2)} {self._sign(group)}".replace("[sic]", "a")
                else:
                    inner = self.line(group, depth + 1, in_cell=in_cell)
                pieces.append(f"{before}{inner}{after}")
        return " ".join(pieces)


def _wrapped(maker: _Maker, text: str) -> str:
    """The text with some line breaks between two words of prose."""

    def broken(match: re.Match[str]) -> str:
        return maker.draw.choice([" ", " ", "\n", "  \n", "\\\n"])

    return re.sub(r"(?<=the|use|ord) (?=house|word|first|and)", broken, text)


def _markdown(draw: Random) -> Made:
    maker = _Maker(draw, "markdown")
    blocks, groups = [], list[list[str]]()
    for _ in range(draw.randint(1, 4)):
        kind, prefix = draw.random(), draw.choice(_PREFIXES)
        group: list[str] = []
        if kind < 0.3:
            text = maker.part(_MARKDOWN_BLOCKS)
            group.append(text)
            if text.startswith("    ") or draw.random() < 0.5:
                prefix = ""
            prefix = "" if re.match(r"#|.*port |.*\[ \]", prefix + text) else prefix
        elif kind < 0.4:
            cells = [maker.line(group, in_cell=True).replace("|", r"\|") for _ in range(2)]
            group = [one.replace("|", r"\|") for one in group]
            text = f"| the head | two |\n|---|:-:|\n| {cells[0]} | {cells[1]} |"
            prefix = draw.choice(["", "> ", "- "])
        elif kind < 0.5:
            title = draw.choice(_WORDS[:4])
            one = maker.part(["`§`", "$§$", "<kbd>§</kbd>", "@a§"])
            group.append(one)
            text, prefix = draw.choice(_TITLED).replace("{}", f"{title} {one}"), ""
        else:
            text = f"{maker.line(group)} the first house word"
            # a block of HTML ends in the middle of a part with two lines
            if draw.random() < 0.3 or (text[0] == "<" and "\n" in text):
                text = f"the {text}"
            if "#" not in prefix:
                text = _wrapped(maker, text)
            else:
                text = text.replace("\n", " ")
                group = [one.replace("\n", " ") for one in group]
        rest = "\n" + "".join(c if c == ">" else " " for c in prefix.replace("[ ]", "")[:9])
        if "[^" in prefix:
            rest = "\n    "
        blocks.append(prefix + text.replace("\n", rest))
        groups.append([one.replace("\n", rest) for one in group])
    separator = draw.choice(["\n\n", "\n\n\n", "\n\n"])
    front = "---\ntitle: 'a 99999'\n---\n\n" if draw.random() < 0.2 else ""
    content = front + separator.join(blocks) + "\n"
    if draw.random() < 0.1:
        content = content.replace("\n", "\r\n")
        groups = [[one.replace("\n", "\r\n") for one in group] for group in groups]
    return Made(draw.choice(["a.md", "a.mdx"]), content, groups)


def _page(draw: Random) -> Made:
    maker = _Maker(draw, "html")
    blocks, groups = [], list[list[str]]()
    for _ in range(draw.randint(1, 5)):
        group: list[str] = []
        if draw.random() < 0.35:
            text = maker.part(_HTML_BLOCKS)
            blocks.append(text)
            groups.append([text])
            continue
        before, after = map(maker.number, draw.choice(_AROUND))
        if re.search(r"\d{5}", before):
            groups.append([before])
        blocks.append(f"{before}{maker.line(group)} word{after}")
        groups.append(group)
    return Made("a.html", draw.choice(["\n", "", "\n\n"]).join(blocks), groups)


def random_translation(
    draw: Random, line: str, form: str | None, *, invented: Sequence[str] = _INVENTED
) -> str:
    """A translation of a line that reverses, repeats, drops, keeps, mixes or invents words."""
    placeholders = draw.random() < 0.5
    markup = Markup(line, form or "html", placeholders=placeholders) if form else None
    word = re.compile(r"\S+" if draw.random() < 0.5 else rf"{STANDING.pattern}|{_OTHERS}")
    words = word.findall(markup.plain if markup else line)
    count = len(words)
    orders: list[Callable[[], list[int]]] = [
        lambda: [*range(count)], lambda: [*range(count)][::-1], lambda: [*range(count)] * 2,
        lambda: [], lambda: [*range(0, count, 2)], lambda: draw.sample(range(count), count),
        lambda: [i for i in range(count) for _ in range(2)],
        lambda: [i for i in range(count) if not STANDING.search(words[i])],
    ]  # fmt: skip
    chosen = draw.choice(orders)()
    target = [words[i] if re.search(r"\d{5}", words[i]) else words[i].upper() for i in chosen]
    if draw.random() < 0.5:
        for _ in range(draw.randint(1, 3)):
            place = draw.randint(0, len(target))
            target.insert(place, draw.choice(invented))
            chosen.insert(place, draw.randrange(max(count, 1)))
    if markup is None:
        return " ".join(target)
    weights = np.full((len(target), max(count, 1)), 1e-3)
    weights[np.arange(len(target)), chosen] = 1
    if draw.random() < 0.3:
        noise = [[draw.random() ** 4 for _ in range(max(count, 1))] for _ in target]
        weights = np.array(noise).reshape(weights.shape) + 1e-6
    glue = draw.choice([" ", " ", " ", ""])
    return placed(markup, glue.join(target), weights, target, words)


def fault(draw: Random) -> str:
    """Make a document and translate it: what is wrong with the result, "" if nothing is."""
    made = draw.choice(_KINDS)(draw)
    try:
        wrong = _CHECKS.get(made.name, _text_fault)(draw, made)
    except Exception as error:  # also a traceback is a fault
        wrong = f"{type(error).__name__}: {error}"
    return wrong and f"{wrong}\n{made.name}: {made.content!r}"


def _text_fault(draw: Random, made: Made) -> str:
    document = document_of(made.name, made.content.encode())
    if document.written(document.segments) != made.content.encode():
        return "changed without translations"
    form = document.form or "html"
    for segment in document.segments:
        for placeholders in (False, True):
            plain = Markup(segment, form, placeholders=placeholders).plain
            for number in re.findall(r"\d{5}", plain):
                owner = next(x for group in made.groups for x in group if number in x)
                if placeholders or not _READ.match(owner):
                    return f"the model reads {owner!r} in {plain!r}"
    translations = [random_translation(draw, one, form) for one in document.segments]
    shown = document.written([f"\ue000{one}\ue001" for one in translations]).decode()
    parts = re.split("[\ue000\ue001]", shown)
    place = 0
    for number, outside in enumerate(parts[::2]):
        found = made.content.find(outside, place)
        if found < 0 or (number == 0 and found > 0):
            return f"{outside!r} is not in its place in {shown!r}"
        place = found + len(outside)
    if not made.content.endswith(parts[-1]):
        return f"the end changed: {shown!r}"
    for group in made.groups:
        for one in group:
            if sum(one in part for part in parts) != 1:
                return f"{one!r} is not once in {shown!r}"
        blocks = re.search("<(script|style|textarea|!|pre|iframe|[?])", "".join(group))
        homes = {i for i, part in enumerate(parts) for one in group if one in part and i % 2}
        # hard line breaks and cells divide a group
        divided = any(x in made.content for x in ("  \n", "\\\n", "|---"))
        if len(homes) > 1 and not blocks and not divided:
            return f"{group!r} is in several segments of {shown!r}"
    output = document.written(translations).decode()
    place = 0
    for group in made.groups:
        ends = [place]
        for one in group:
            if output.count(one) != 1:
                return f"{one!r} is not once in {output!r}"
            if output.find(one) < place:
                return f"{one!r} is before its place in {output!r}"
            ends.append(output.find(one) + len(one))
        place = max(ends)
    read = " ".join(x for group in made.groups for x in group if _READ.match(x))
    for number in {*re.findall(r"\d{5}", made.content)} - {*re.findall(r"\d{5}", read)}:
        if output.count(number) != made.content.count(number):
            return f"a piece of {number} is left in {output!r}"
    document_of(made.name, output.encode())
    return ""


# Messages of programs; texts of ICU's MessageFormat have the placeholders of the second list only.
_CODES = ["%(a§)s", "{a§}", "{{a§}}", "{{ a§ }}", "${a§}", "%{a§}", "%§$s", "{% a § %}", "#{a§}",
          "<br class='§'/>", "%<a§>s"]  # fmt: skip
_OF_ICU = ["{a§}", "{a§, number}", "{a§, date, short}", "{ a§ }", "<br class='§'/>"]
_IN_BRACES = [("<a href='§'>", "</a>"), ("<b>", "</b>"), ('<span class="§">', "</span>")]
_LABELS = ["&Open the first", "_Open one", "Sa_ve as", "the first &house", "E&xit"]
# Words that do not look like placeholders of their own, which a message may well have
_OF_MESSAGES = [x for x in _INVENTED if not re.search(r"[{%}].|<br/>|</?b>", x)]
_HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);\\n"\n\n'
)


def _skeleton(message: Any) -> Any:
    """A parsed message of ICU without its texts; branches in their order."""
    if isinstance(message, list):
        return sorted((_skeleton(x) for x in message if not isinstance(x, str)), key=repr)
    options = message.get("options", {})
    inner = {name: _skeleton(value) for name, value in options.items()}
    return [message.get("name"), message.get("type"), message.get("format"), inner]


def _parsed_message(text: str) -> Any:
    shown = re.sub(r"</?(?:a|b|br|span)\b[^<>]*>", "", text)
    if "{VAR_PLURAL" in text:  # of Angular, which has no quotes
        shown = shown.replace("'", "\u2019")
    return Parser({"require_other": False}).parse(shown)


class _Messages(_Maker):
    """Texts of messages; `groups` has the codes of each, and whether it is a message of ICU."""

    def text(self, group: list[str], *, xml: bool = False) -> tuple[str, bool]:
        if not xml and self.draw.random() < 0.15:
            return self.draw.choice(_LABELS), False
        icu = self.draw.random() < 0.3
        return self.branch(group, 0, icu=icu, xml=xml), icu

    def branch(self, group: list[str], depth: int, *, icu: bool, xml: bool) -> str:
        pieces = []
        for _ in range(self.draw.randint(1, 4 - depth)):
            kind = self.draw.random()
            if kind < 0.4 or depth > 2:
                words = self.prose(3).replace("50%", "50")
                pieces.append(words.replace("'", "''" if icu and not xml else "\u2019"))
            elif icu and depth < 2 and kind < 0.6:
                pieces.append(self.argument(group, depth, xml=xml))
            elif kind < 0.85:
                group.append(self.part(_OF_ICU if icu else _CODES))
                pieces.append(self.draw.choice(["{}", "({})", "{}.", "\u201c{}\u201d"]).replace(
                    "{}", group[-1]
                ))  # fmt: skip
            else:
                before, after = map(self.number, self.draw.choice(_IN_BRACES))
                group += [before] * ("1" in before)
                inner = self.branch(group, depth + 1, icu=icu, xml=xml)
                pieces.append(f"{before}{inner}{after}")
        between = [" ", " ", " \n" if depth == 0 and not xml and not icu else " "]
        return self.draw.choice(between).join(["word", *pieces])

    def argument(self, group: list[str], depth: int, *, xml: bool) -> str:
        plural = self.draw.choice(["plural", "selectordinal"])
        name, kind, keys = self.draw.choice([
            ("a§", plural, ["=0", "one", "other"]), ("a§", "select", ["male", "other"]),
            ("VAR_PLURAL", "plural", ["=1", "other"]), ("a§", "plural", ["offset:1 one", "other"]),
        ])  # fmt: skip
        if "VAR" in name and not xml:
            name = "b§"
        start = self.number(f"{{{name}, {kind},")
        group += [start] * ("§" in name)
        branches = []
        for key in keys:
            inner = self.branch(group, depth + 1, icu=True, xml=xml)
            branches.append(f" {key} {{{inner}{' #' * (kind != 'select')}}}")
        return f"{start}{''.join(branches)}}}"


def _catalogue(draw: Random) -> Made:
    maker = _Messages(draw, "html")
    content, groups = [_HEADER], list[list[str]]()
    for _ in range(draw.randint(1, 4)):
        group: list[str] = []
        one, icu = maker.text(group)
        flags = [] if icu else draw.choice([[], ["no-wrap"], ["python-format"], ["c-format"]])
        if any(re.match(r"%\d", x) for x in group):
            flags = []
        entry = maker.number("#: a§.c:1\n") + "".join(f"#, {x}\n" for x in flags)
        entry += maker.number('msgctxt "§"\n')
        entry += f"msgid {_quoted(one)}\n"
        if not icu and draw.random() < 0.3:
            other: list[str] = []
            entry += f"msgid_plural {_quoted(maker.branch(other, 0, icu=False, xml=False))}\n"
            entry += "".join(f'msgstr[{i}] ""\n' for i in range(3))
            groups += [group, other, other]
        else:
            done = draw.random() < 0.1
            entry += 'msgstr "fertig &< {"\n' if done else 'msgstr ""\n'
            groups.append(["fertig &< {"] if done else group)
        content.append(entry)
    return Made("a.po", "\n".join(content), groups)


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    lines = text.split("\n")
    return '""\n' + "\n".join(f'"{x}\\n"' for x in lines[:-1]) + f'\n"{lines[-1]}"'


def _catalogue_fault(draw: Random, made: Made) -> str:
    document = document_of(made.name, made.content.encode())
    for segment in document.segments:
        plain = Markup(segment, "html", placeholders=True).plain
        if re.search(r"\d{5}", plain):
            return f"the model reads {plain!r} of {segment!r}"
    output = document.written([
        random_translation(draw, one, "html", invented=_OF_MESSAGES) for one in document.segments
    ]).decode()  # fmt: skip
    before, after = (polib.pofile("\n" + text) for text in (made.content, output))
    groups = iter(made.groups)
    for one, other in zip(before, after, strict=True):
        kept = [(x.msgid, x.msgid_plural, x.msgctxt, x.flags, x.occurrences) for x in (one, other)]
        if kept[0] != kept[1]:
            return f"{kept[0]} became {kept[1]}"
        if one.msgid_plural:
            sources = [one.msgid, one.msgid_plural, one.msgid_plural]
            found = [other.msgstr_plural[i] for i in range(3)]
        else:
            sources, found = [one.msgid], [other.msgstr]
        for source, text in zip(sources, found, strict=True):
            if wrong := _message_fault(source, text, next(groups)):
                return wrong
    return ""


def _message_fault(source: str, text: str, group: list[str]) -> str:
    for one in group:
        if text.count(one) != 1:
            return f"{one!r} is not once in {text!r}, of {source!r}"
    if text == "fertig &< {":
        return ""
    codes = re.compile(r"</?(?:a|b|br|span)\b[^<>]*>|\n")
    if sorted(codes.findall(source)) != sorted(codes.findall(text)):
        return f"other codes in {text!r}, of {source!r}"
    if re.search(r"\{[^{}]+,", source):
        skeletons = [_skeleton(_parsed_message(x)) for x in (source, text)]
        if skeletons[0] != skeletons[1]:
            return f"another skeleton in {text!r}, of {source!r}"
    return ""


_OF_XLIFF = {  # pairs of codes, and codes that stand alone
    "1.2": (
        [("<g id='§'>", "</g>"), ("<bpt id='§'>&lt;b></bpt>", "<ept id='§'>&lt;/b></ept>"),
         ("<bx id='§'/>", "<ex id='e§' rid='§'/>"), ("<mrk mtype='x-a' mid='§'>", "</mrk>"),
         ("<x id='START_A§'/>", "<x id='CLOSE_A§'/>"), ("<it id='§' pos='open'>a</it>", "")],
        ["<x id='§'/>", "<ph id='§'>&lt;br a='§'/></ph>", "<mrk mtype='protected'>§ a</mrk>",
         "<x id='INTERPOLATION' equiv-text='{{§}}'/>",
         "<g id='§'/>", "<ph id='§'><sub>a</sub></ph>", "<g id='§'><x id='a§'/></g>"],
    ),
    "2.0": (
        [("<pc id='§' dataRefStart='d'>", "</pc>"), ("<sc id='§'/>", "<ec startRef='§'/>"),
         ("<mrk id='§' type='a'>", "</mrk>"), ("<sm id='§' type='a'/>", "<em startRef='§'/>")],
        ["<ph id='§' disp='{{§}}'/>", "<mrk id='§' translate='no'>§ a</mrk>", "<cp hex='0001'/>",
         "<pc id='§'/>", "<pc id='§'><ph id='a§'/></pc>",
         "<mrk translate='no'>§ <ph id='a§'/></mrk>"],
    ),
}  # fmt: skip


def _xliff(draw: Random) -> Made:
    maker = _Messages(draw, "html")
    version = draw.choice(["1.2", "2.0"])
    around, alone = _OF_XLIFF[version]

    def line(group: list[str], depth: int = 0) -> str:
        pieces = ["word"]
        for _ in range(draw.randint(1, 4 - depth)):
            kind = draw.random()
            if kind < 0.3 or depth > 2:
                pieces.append(maker.prose(3).replace("&", "&amp;").replace("50%", "50"))
            elif kind < 0.55:
                pieces.append(maker.part(alone))
            elif kind < 0.75:
                before, after = draw.choice(around)
                both = maker.number(f"{before}\0{after}").split("\0")
                pieces.append(line(group, depth + 1).join(both))
            else:
                group.append(maker.part([x for x in _CODES if "<" not in x]))
                pieces.append(draw.choice(["{}", "({})", "{},"]).replace("{}", group[-1]))
        return draw.choice([" ", " ", ""]).join(pieces)

    units, groups = [], list[list[str]]()
    for number in range(draw.randint(1, 3)):
        group: list[str] = []
        if draw.random() < 0.25:
            text = maker.branch(group, 0, icu=True, xml=True)
            text = text.replace("&", "&amp;").replace("<", "&lt;")
        else:
            text = line(group)
            if version == "1.2" and draw.random() < 0.2:
                text = f"<mrk mtype='seg' mid='1'>{text}</mrk> <mrk mtype='seg' mid='2'>a</mrk>"
        groups.append(group)
        if version == "1.2":
            units.append(f"<trans-unit id='{number}'><source>{text}</source></trans-unit>")
        else:
            units.append(f"<unit id='{number}'><segment><source>{text}</source></segment></unit>")
    name = f"urn:oasis:names:tc:xliff:document:{version}"
    if version == "1.2":
        content = (
            f"<xliff xmlns='{name}' version='1.2'><file source-language='en' target-language='de'>"
            f"<body>{''.join(units)}</body></file></xliff>"
        )
    else:
        content = (
            f"<xliff xmlns='{name}' version='2.0' srcLang='en' trgLang='de'><file id='f'>"
            f"{''.join(units)}</file></xliff>"
        )
    return Made("a.xlf", content, groups)


def _xliff_fault(draw: Random, made: Made) -> str:
    document = document_of(made.name, made.content.encode())
    for segment in document.segments:
        plain = Markup(segment, "html", placeholders=True).plain
        if re.search(r"\d{5}", plain):
            return f"the model reads {plain!r} of {segment!r}"
    output = document.written([
        random_translation(draw, one, "html", invented=_OF_MESSAGES) for one in document.segments
    ])  # fmt: skip
    before, after = etree.fromstring(made.content.encode()), etree.fromstring(output)
    for source, group in zip(after.findall(".//{*}source"), made.groups, strict=True):
        target = source.getparent().find("{*}target")
        wholes = [source, source if target is None else target]
        texts = ["".join(x.itertext()) for x in wholes]
        parts = [x.findall(".//{*}mrk[@mtype='seg']") or [x] for x in wholes]
        codes = [[sorted(map(_code, x.iterdescendants())) for x in some] for some in parts]
        if codes[0] != codes[1]:
            return f"other codes in {etree.tostring(wholes[1], encoding='unicode')}"
        if wrong := _message_fault(*texts, group):
            return wrong
        if target is not None:
            target.getparent().remove(target)
    if etree.tostring(before, method="c14n") != etree.tostring(after, method="c14n"):
        return f"other parts changed: {output.decode()}"
    return ""


def _code(element: Any) -> tuple[str, str, str]:
    """The name, attributes and content of an element; the content only if it is protected."""
    name = etree.QName(element).localname
    kept = name in ("bpt", "ept", "ph", "it") or "no" in element.values()
    kept = kept or "protected" in element.values()
    return name, str(sorted(element.items())), "".join(element.itertext()) if kept else ""


def _subtitles(draw: Random) -> Made:
    maker = _Maker(draw, "html")
    blocks, groups = [], list[list[str]]()
    for number in range(1, draw.randint(2, 5)):
        lines = []
        for _ in range(draw.randint(1, 2)):
            words = maker.prose()
            font = maker.number("<font color='§'>")
            around = [("", ""), ("<i>", "</i>"), (font, "</font>"), (r"{\an8}", ""), ("- ", "")]
            before, after = draw.choice(around)
            lines.append(f"{before}{words}{after}")
        time = f"00:00:0{number},000 --> 00:00:0{number},900"
        blocks.append(f"{number}\n{time}\n" + "\n".join(lines) + "\n")
        groups.append([time, *re.findall(r"<font[^>]*>", "".join(lines))])
    return Made("a.srt", "\n".join(blocks), groups)


def _plain(draw: Random) -> Made:
    maker = _Maker(draw, "html")
    lines = [" " * draw.randint(0, 3) + maker.prose() for _ in range(draw.randint(1, 5))]
    return Made("a.txt", draw.choice(["\n", "\r\n", "\n\n"]).join(lines) + "\n")


_KINDS: list[Callable[[Random], Made]] = [
    _markdown, _markdown, _page, _page, _catalogue, _xliff, _subtitles, _plain,
]  # fmt: skip
_CHECKS: dict[str, Callable[[Random, Made], str]] = {
    "a.po": _catalogue_fault,
    "a.xlf": _xliff_fault,
}
