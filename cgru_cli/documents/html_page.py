"""HTML (.html): each text between two block tags is a segment, with its inline tags."""

import codecs
import contextlib
import re
import string
from html.parser import HTMLParser

from ..text.markup import VOID
from .document import TextDocument, translatable
from .inline import pairs

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark q rp "
    "rt ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
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
_NOT_NESTED = _INLINE | VOID | _ROWS | _ENDED_BY.keys() | {"optgroup"}
_CHARSET = re.compile(rb"<meta\b[^<>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_KEPT = frozenset("script style pre textarea svg math template noscript".split())


class Html(TextDocument):
    """A page or a part of a page; scripts, styles and preformatted text are unchanged."""

    def __init__(self, content: bytes):
        encoding = _encoding(content)
        super().__init__(content, encoding)
        self.media_type = f"text/html; charset={encoding}"
        inline: list[_Part] = []
        for part in _Parts(self.text).found:
            if part.kind != "block":
                inline.append(part)
                continue
            crossing = _unpaired(inline)
            within: list[_Part] = []
            for one in [*inline, part]:
                if one is not part and one not in crossing:
                    within.append(one)
                    continue
                if any(x.kind == "text" and translatable(self._of(x)) for x in within):
                    start, core = within[0].start, self.text[within[0].start : within[-1].end]
                    self.add(start + len(core) - len(core.lstrip()), start + len(core.rstrip()))
                within = []
            inline = []

    def _of(self, part: "_Part") -> str:
        return self.text[part.start : part.end]


class _Part:
    """A part of a page from `start` to `end`.

    kind: text, block (a block tag), point (an entity, a comment or an empty inline tag), or the
    name of another inline tag. closes: whether it is a closing tag.
    """

    def __init__(self, start: int, kind: str, *, closes: bool = False):
        self.start, self.end, self.kind, self.closes = start, start, kind, closes


class _Parts(HTMLParser):
    """Splits a page into parts; the last part is an empty block at the end of the page."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=False)
        self.found: list[_Part] = []
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._kept, self._depth = "", 0  # an untranslated element, and its nesting depth
        # HTMLParser takes quadratic time for unclosed tags and comments
        whole = text[: text.rfind(">") + 1]
        comment = whole.find("<!--", whole.rfind("-->") + 1)
        self.feed(whole[:comment] if comment >= 0 else whole)
        self.close()
        if comment >= 0:
            self.found.append(_Part(comment, "block"))
        elif len(whole) < len(text):
            self.found.append(_Part(len(whole), "block" if self._depth else "text"))
        self.found.append(_Part(len(text), "block"))
        for one, after in zip(self.found, self.found[1:], strict=False):
            one.end = after.start

    def _add(self, kind: str, *, closes: bool = False) -> None:
        line, column = self.getpos()
        kind = "block" if self._depth else kind
        self.found.append(_Part(self._starts[line - 1] + column, kind, closes=closes))

    def _nests(self, tag: str) -> bool:
        """Whether a tag changes the depth in the untranslated element."""
        return tag not in _NOT_NESTED if self._kept in _ENDED_BY else tag == self._kept

    def _ends(self, tag: str) -> bool:
        """Whether a tag ends the untranslated element although it may not be its end tag."""
        return self._depth == 1 and tag in _ENDED_BY.get(self._kept, ())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._ends(tag):
            self._depth = 0
        if self._depth:
            self._depth += self._nests(tag)
        elif tag in _KEPT or (("translate", "no") in attrs and tag not in VOID):
            self._kept, self._depth = tag, 1
        self._add(tag if tag in _INLINE else "block")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("point" if tag in _INLINE else "block")

    def handle_endtag(self, tag: str) -> None:
        self._add(tag if tag in _INLINE else "block", closes=True)
        if self._depth and (self._nests(tag) or self._ends(tag)):
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        self._add("text")

    def _point(self, _text: str) -> None:
        self._add("point")

    def _block(self, _text: str) -> None:
        self._add("block")

    handle_entityref = handle_charref = handle_comment = _point  # type: ignore[assignment]
    handle_decl = handle_pi = unknown_decl = _block  # type: ignore[assignment]


def _unpaired(parts: list[_Part]) -> set[_Part]:
    """The inline tags whose counterpart is not among these parts of the page."""
    names = ["" if one.kind in ("text", "point", *VOID) else one.kind for one in parts]
    opening = pairs((name, not one.closes) for name, one in zip(names, parts, strict=True))
    paired = {*opening, *opening.values()}
    return {one for i, one in enumerate(parts) if names[i] and i not in paired}


def _encoding(content: bytes) -> str:
    """The encoding that a page declares; UTF-8 if that is unknown or does not extend ASCII."""
    declared = _CHARSET.search(content[:1024])  # browsers read as much
    if declared and not content.startswith(codecs.BOM_UTF8):
        name = declared[1].decode().lower()
        with contextlib.suppress(LookupError, UnicodeError):
            if string.printable.encode(name) == string.printable.encode():
                return name
    return "utf-8"
