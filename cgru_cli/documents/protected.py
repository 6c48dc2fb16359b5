r"""Text that is not prose, such as code, formulas, templates and addresses: it is never translated.

The tables say what is protected: `_PATTERNS` in a line of HTML or Markdown, `_RAW`, `_NOUNS` and
`_BLOCKS` which elements of HTML, `_LINES` which lines of Markdown. Readers of documents and of
mark-up use the functions at the end: in a line, one character stands for each protected text, which
`mark_places` puts into the translation.

Each pattern searches from an opening mark only to the next one, so that time stays linear.
"""

import functools
import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math "
    "q rp rt ruby s samp small span strike strong sub sup svg time tt u var wbr".split()
)
# content without tags, elements that stand in a sentence like a noun, and elements between blocks
_RAW = frozenset("script style textarea xmp iframe noembed noframes".split())
_NOUNS = frozenset("code kbd samp var tt time math svg".split())
_BLOCKS = frozenset("pre template noscript".split())
_NO_WORDS = ("math", "svg")  # formulas and pictures; other nouns are also shown as their words
_NO_CLASSES = {"notranslate", "skiptranslate"}
_ROWS = frozenset("tr tbody thead tfoot".split())
_ENDED_BY = {  # elements without a required end tag, and the tags that end them
    "li": frozenset({"li"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd"})),
    "option": frozenset({"option", "optgroup"}),
    "tr": _ROWS,
    **dict.fromkeys(("td", "th"), _ROWS | {"td", "th"}),
    "p": _ROWS.union(
        "td th li dt dd address article aside blockquote details dialog div dl fieldset figcaption "
        "figure footer form h1 h2 h3 h4 h5 h6 header hr main menu nav ol p pre section table "
        "ul".split()
    ),
}
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
TAG = (
    r"(?P<tag><(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*)(?![\w:.-])"
    rf"""(?:[^<>"'{{]|"[^"]*"|'[^']*'|{_BRACES}|\{{)*+>)"""
)
_ATTRIBUTE = re.compile(r"""\s([\w:@.-]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
_VALUE_AT_END = re.compile(r"=\s*[^\s\"'=]*/>\Z")  # an unquoted value, which may end in a slash
_ADDRESS = r"(?:<(?:[^<>\\]|\\.)*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
_TITLE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))"""
TARGET = rf"\({_ADDRESS}(?:[ ]+{_TITLE})?\)"  # of a link of Markdown


def _between(start: str, end: str) -> str:
    """The shortest text from a start to an end, without another start."""
    return f"{start}(?:(?!{start}|{end}).)*{end}"


# The content of these pairs of template tags is code.
_RAW_TAGS = "raw|verbatim|highlight|code|codeblock|comment|math|katex|mermaid|plantuml|chart|gist"
_HUGO = r"\{\{[<%]\s*"
_HUGO_TAG = r"\{\{[<%#/!>](?:(?!\{\{|\}\}).)*\}\}"
_LIQUID = r"\{%-?\s*"
_RAW_PAIR = (
    rf"{_HUGO}(?P<hugo>{_RAW_TAGS})\b(?:(?!\}}\}}).)*\}}\}}(?:(?!{_HUGO}(?P=hugo)\b).)*?"
    rf"{_HUGO}/\s*(?P=hugo)\s*[>%]\}}\}}"
    rf"|{_LIQUID}(?P<liquid>{_RAW_TAGS})\b(?:(?!%\}}).)*%\}}(?:(?!{_LIQUID}(?P=liquid)\b).)*?"
    rf"{_LIQUID}end(?P=liquid)\s*-?%\}}"
)
_IN_URL = r"[^\s<>\"'`|\[\](){}]|\([^\s<>()]*\)|\{\{[^{}]*\}\}|\$?\{[^{}\s]*\}"
_LIKE_FORMULA = (  # unlike `\[sic\]`: has a command or a sign, or no word of three letters
    r"(?=(?:(?!\\[][()]).)*?(?:\\[A-Za-z]|[=^_+<>|]|\d\s*[-*/])"
    r"|(?:[^A-Za-z\\]|(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z]))+\\)"
)
_ASIDES = {  # not a part of the sentence
    "comment": "|".join(
        (
            _between("<!--", "-->"),
            _between(r"<!\[CDATA\[", r"\]\]>"),
            r"<![A-Za-z\[][^<>]*>",
            _between(r"<\?", r"\?>"),
            _between("<%", "%>"),
        )
    ),
    "raw": _RAW_PAIR,
    "statement": "|".join((_between(r"\{%", r"%\}"), _between(r"\{#", r"#\}"), _HUGO_TAG)),
}
_SIGNS = {  # stand in a sentence like a noun
    "display": r"\$\$(?!\$)(?:(?!\$\$|\n\s*\n).)+\$\$"
    r"|\\begin\{(?P<of>\w+\*?)\}(?:(?!\\begin\{(?P=of)\}).)*?\\end\{(?P=of)\}",
    "formula": rf"\\\({_LIKE_FORMULA}(?:(?!\\[()]).)+\\\)|\\\[{_LIKE_FORMULA}(?:(?!\\[][]).)+\\\]",
    "expression": r"\{\{\{?(?:(?!\{\{|\}\}).)*\}\}\}?|\$\{[^{}]*\}",
    "url": rf"(?<![\w@])(?:(?:https?|ftp|file)://|www\.(?=\w))(?:{_IN_URL})+(?<![.,;:!?*_~])",
    "email": r"(?<![\w.+-])[\w.+-]+@\w[\w-]*(?:\.[\w-]+)+",
}
_PATTERNS = {
    "html": {"standing": "[\U000f0000-\U0010ffff]", **_ASIDES, "markup": TAG, **_SIGNS},
    "markdown": {
        "standing": "[\U000f0000-\U0010ffff]",
        "formula": _SIGNS["formula"],
        "text": r"\\[!-/:-@\[-`{-~]",
        "code": r"(?:\{[\w:.+-]+\}|(?<![\w:]):[\w:.+-]+:)?"
        r"(?P<ticks>`+)(?!`)(?P<inside>.*?)(?<!`)(?P=ticks)(?!`)(?:\{[.:=#][^{}]*\})?",
        "ticks_alone": "`+",
        "autolink": r"<(?:[a-z][a-z0-9+.-]*:[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>",
        **_ASIDES,
        "attributes": r"\{[:#.][^{}\n]*\}|" + _between(r"\{/\*", r"\*/\}"),
        "markup": TAG,
        **{name: one for name, one in _SIGNS.items() if name != "formula"},
        "math": r"(?<![\w$\\])\$(?![\s$])(?!\d[\d.,]*\w?\s+[^\W\d_]{2})(?:[^$\\]|\\.)+"
        r"(?<!\s)\$(?![\d$])",
        "braces": rf"\{{[\w:.+-]+\}}|(?=\{{[^{{}}]*[^\w\s,;:'{{}}-]){_BRACES}",
        "note": rf"\[\^[^\s\[\]]+\](?!{TARGET})",
        "wiki": r"!?\[\[[^\[\]]+\]\](?![\[(])",
        "citation": r"\[-?@[^\[\]]+\](?![\[(])|(?<![\w/@.])@[A-Za-z][\w/-]*\w",
        "emoji": r"(?<![\w:/]):(?:[+-]1|[a-z][a-z0-9_+-]*):(?![\w:/])",
    },
}
_NOT_KEPT = ("text", "ticks_alone", "markup")
_NO_NOUNS = {*_ASIDES, "attributes", "note", "emoji"}


@functools.cache  # compiled on first use, because few texts have markup
def _protected(form: str) -> re.Pattern[str]:
    table = _PATTERNS[form]
    return re.compile("|".join(f"(?P<{name}>{one})" for name, one in table.items()), re.DOTALL)


FIRST, _MOST = 0xF0000, 0x20000  # the first character that stands for a text, and their number
STANDING = re.compile("[\U000f0000-\U0010ffff]")
_DIVS = (  # their arguments are titles
    "admonition|note|tip|info|warning|danger|caution|important|hint|attention|error|seealso|success"
    "|question|details|dropdown|card|tab-item|topic|sidebar"
)
_LINES = [  # that the parser of Markdown takes for a paragraph; the title is prose
    re.compile(pattern)
    for pattern in (
        r"\[![A-Za-z][\w-]*\][-+]?(?:[ \t]+(?P<title>.*))?",  # alert
        rf":{{3,}}[ \t]*(?:(?:\{{(?:{_DIVS})\}}|[\w-]*)"
        r"(?:\{[^{}]*[ .#=][^{}]*\})?(?:[ \t]+|\[|$)"
        r"(?P<title>[^][{}]*?)\]?[ \t]*)?(?:\{[^{}]*\})?:*",  # container
        r":{3,}[ \t]*\{[^{}]*\}.*",
        r'(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+"(?P<title>[^"]*)")?',
        r'===[!+]?[ \t]+"(?P<title>[^"]*)"',  # tab
        r"\*\[[^][]+\]:[ \t]*(?P<title>.*)",  # abbreviation
        r"(?i:\[toc\])|\([\w.:-]+\)=",  # contents; label
        r"import[ \t]+(?:[\w$*{}, \t]+[ \t]from[ \t]+)?[\"'][^\"']+[\"'];?",
        r"export[ \t]+(?:(?:default[ \t]+)?(?:(?:async[ \t]+)?function|class|new)\b.*|\{.*|\*.*"
        r"|default[ \t]+(?:[({\[].*|[\w$.]+;?|[\w$.]+\(.*)"
        r"|(?:const|let|var)[ \t]+[\w$]+[ \t]*[=:].*)",
    )
]
_LINES_ALONE = [  # that only the parser of Markdown knows; here, a line stands alone
    re.compile(pattern)
    for pattern in (
        r"(?:```|~~~).*|=+|(?:[-*_][ \t]*){3,}|[|:\- \t]*\|[|:\- \t]*",
        rf"\[[^]^][^]]*\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)(?:[ \t]+{_TITLE})?",
    )
]
_PREFIX = re.compile(  # of quotations, lists, headings, tasks, footnotes and abbreviations
    r"(?:[ \t]*(?:>|(?:(?:[-+*]|\d{1,9}[.)](?=[ ]+\[[ xX]\]))|#{1,6}|\[[ xX]\]"
    r"|\[\^[^\s\[\]]+\]:)(?=\s|\Z)))*[ \t]*"
)
_CODE_DIVS = (
    "code|code-block|code-cell|sourcecode|math|mermaid|raw|eval-rst|toctree|csv-table|include"
)
_WHOLE = re.compile(  # blocks without prose, up to their end
    rf"(?P<colons>:{{3,}})[ \t]*\{{(?:{_CODE_DIVS})\}}.*?\n[ \t>]*(?P=colons)[ \t]*(?=\n|\Z)"
    r"|import[ \t]*\{[^{}]*\}[ \t]*from[ \t]*[\"'][^\"'\n]*[\"'];?[ \t]*(?=\n|\Z)"
    r"|export[ \t][^\n]*[({[]\n(?:(?!\nexport[ \t]).)*?(?<=\n)[])}][^\n]*",
    re.DOTALL,
)
_BLANK = re.compile(r"[ \t]*(?:\([\w:.-]+\)[ \t]*(?=\n|\Z))?")  # with the label of a formula
_OF_BLOCKS = (*_ASIDES, "display", "formula", "expression", "attributes", "braces")


class Protected(NamedTuple):
    """A protected text from `start` to `end`.

    kind: noun (stands in the sentence), aside, note (at the end of a word); or, for the parts of
    an element around texts to translate: open, aside and close. words: the text to show to models
    without placeholders. block: whether it stands between blocks.
    """

    start: int
    end: int
    kind: str = "aside"
    words: str = ""
    block: bool = False


class _Tagged(NamedTuple):
    """An element of HTML from `start` to `end`, and its content.

    translates: True inside a protected element, False for a protected element.
    """

    start: int
    end: int
    content: int
    content_end: int
    name: str
    translates: bool
    block: bool


def protected(text: str, form: str) -> list[Protected]:
    """The protected texts of a line or page, in their order, without overlaps.

    form: html or markdown (with tags of HTML).
    """
    found: list[Protected] = []
    tags: list[re.Match[str]] = []
    place = 0
    while match := _protected(form).search(text, place):
        place, name = match.end(), match.lastgroup or ""
        if name == "markup" and not match["slash"] and (raw := match["name"].lower()) in _RAW:
            closing = re.compile(rf"</{raw}\b[^<>]*>", re.IGNORECASE).search(text, place)
            place = closing.end() if closing else len(text)
            found.append(Protected(match.start(), place, block=True))
        elif name == "markup":
            tags.append(match)
        elif name not in _NOT_KEPT:
            kind = name if name == "note" else "aside" if name in _NO_NOUNS else "noun"
            words = match["inside"] if name == "code" else ""
            block = match[0].startswith(("<!D", "<!d", "<?xml"))
            found.append(Protected(match.start(), place, kind, words, block))
    kept: list[Protected] = []
    for one in sorted([*_regions(text, tags), *found]):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _regions(text: str, tags: list[re.Match[str]]) -> Iterator[Protected]:
    """The texts of protected elements, without elements inside that are to be translated."""
    around: list[_Tagged] = []
    borders: dict[_Tagged, list[int]] = {}  # of the texts of each protected element
    for one in sorted(_elements(text, tags)):
        while around and around[-1].end <= one.start:
            around.pop()
        if one.translates != (not around or around[-1].translates):
            if one.translates:
                borders[around[-1]] += [one.content, one.content_end]
            else:
                borders[one] = [one.start, one.end]
            around.append(one)
    for owner, places in borders.items():
        places.sort()
        spans = [(i, j) for i, j in zip(places[::2], places[1::2], strict=True) if i < j]
        kinds = ["open", *["aside"] * (len(spans) - 2), "close"]
        words = ""
        if len(spans) == 1:
            words = "" if owner.block else _words(text[slice(*spans[0])])
            kinds = ["noun" if words else "aside"]
            words = "" if owner.name in _NO_WORDS else words
        for span, kind in zip(spans, kinds, strict=True):
            yield Protected(*span, kind, words, owner.block)


def _words(content: str) -> str:
    return html.unescape(re.sub(r"<!--.*?-->|<[^<>]*>", "", content, flags=re.DOTALL)).strip()


def _elements(text: str, tags: list[re.Match[str]]) -> Iterator[_Tagged]:
    """The elements that are protected, or to be translated if a protected element is around them.

    An element without an end tag ends with its parent; then its attributes must protect it.
    """
    opened: list[tuple[str, re.Match[str], bool | None]] = []
    outer: list[int] = []  # places in `opened` of elements that are not inline
    count: Counter[str] = Counter()

    def ended(start: int, end: int, closing: bool) -> Iterator[_Tagged]:
        name, tag, translates = opened.pop()
        count[name] -= 1
        if name not in INLINE:
            outer.pop()
        if translates is None and (closing or name in _BLOCKS):
            translates = not (name in _NOUNS or name in _BLOCKS) and None
        if translates is not None:
            block = name not in INLINE or 'display="block"' in tag[0]
            yield _Tagged(tag.start(), end, tag.end(), start, name, translates, block)

    for tag in tags:
        name, (start, end) = tag["name"].lower(), tag.span()
        if tag["slash"]:
            while count[name]:
                is_last = opened[-1][0] == name
                yield from ended(start, end if is_last else start, is_last)
                if is_last:
                    break
            continue
        while outer and name in _ENDED_BY.get(opened[outer[-1]][0], ()):
            last = outer[-1]
            while len(opened) > last:
                yield from ended(start, start, len(opened) - 1 == last)
        if name not in VOID and not is_empty(tag[0]):
            count[name] += 1
            if name not in INLINE:
                outer.append(len(opened))
            opened.append((name, tag, _translates(tag[0])))
    while opened:
        yield from ended(len(text), len(text), False)


def is_empty(tag: str) -> bool:
    """Whether a tag is that of an element without content, such as `<br/>`."""
    return tag.endswith("/>") and not _VALUE_AT_END.search(tag)


def _translates(tag: str) -> bool | None:
    """Whether the attributes of a tag say that its element is translated; None: they do not."""
    given = {name.lower(): value.strip("\"'").lower() for name, value in _ATTRIBUTE.findall(tag)}
    if "translate" in given:
        return given["translate"] != "no"
    classes = {*given.get("class", "").split(), *given.get("classname", "").split()}
    return False if classes & _NO_CLASSES else None


def hidden(text: str, form: str) -> tuple[str, list[Protected]]:
    """The text with one character for each protected text (`FIRST` for the first), and these."""
    items = protected(text, form)[:_MOST]
    parts, place = [], 0
    for number, one in enumerate(items):
        parts += [text[place : one.start], chr(FIRST + number)]
        place = one.end
    return "".join([*parts, text[place:]]), items


def marked_line(line: str) -> re.Match[str] | None:
    """The parts of a line of Markdown that is no paragraph; its group `title`, if any, is prose."""
    return next(filter(None, (one.fullmatch(line) for one in _LINES)), None)


def frame(line: str) -> tuple[str, str, str]:
    """The marker at the beginning of a line of Markdown, its prose, and the marker at its end."""
    begin = _PREFIX.match(line)
    place = begin.end() if begin else 0
    rest = line[place:].rstrip()
    match = marked_line(rest) if rest else None
    if any(one.fullmatch(rest) for one in _LINES_ALONE) or (match and not title_of(match)):
        return line, "", ""
    if match is None:
        return line[:place], line[place:], ""
    start, end = (place + border for border in match.span("title"))
    return line[:start], line[start:end], line[end:]


def title_of(match: re.Match[str]) -> str | None:
    """The prose of a marked line, if it has any."""
    return match["title"] if "title" in match.re.groupindex else None


def block_end(text: str, start: int, end: int) -> int | None:
    """The end of the whole lines from `start` on without prose; None if the first line has some."""
    if match := _WHOLE.match(text, start, end):
        return match.end()
    place = start
    while match := _protected("markdown").match(text, place, end):
        if match.lastgroup not in _OF_BLOCKS:
            return None
        blank = _BLANK.match(text, match.end(), end)
        place = blank.end() if blank else match.end()
        if place == end or text[place] == "\n":
            return place
    return None
