"""HTML (.html): each text between two block tags is a segment, with its inline tags."""

import codecs
import contextlib
import re
import string
from html.parser import HTMLParser

from ..text.protected import INLINE, VOID, protected
from .document import TextDocument, translatable
from .inline import pairs

_CHARSET = re.compile(rb"<meta\b[^<>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


class Html(TextDocument):
    """A page or a part of a page; text that is not prose is unchanged (see `text.protected`)."""

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
        text = _with_tags(text)
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        # HTMLParser takes quadratic time for unclosed tags and comments
        whole = text[: text.rfind(">") + 1]
        comment = whole.find("<!--", whole.rfind("-->") + 1)
        self.feed(whole[:comment] if comment >= 0 else whole)
        self.close()
        if comment >= 0:
            self.found.append(_Part(comment, "block"))
        elif len(whole) < len(text):
            self.found.append(_Part(len(whole), "text"))
        self.found.append(_Part(len(text), "block"))
        for one, after in zip(self.found, self.found[1:], strict=False):
            one.end = after.start

    def _add(self, kind: str, *, closes: bool = False) -> None:
        line, column = self.getpos()
        self.found.append(_Part(self._starts[line - 1] + column, kind, closes=closes))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag if tag in INLINE else "block")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("point" if tag in INLINE else "block")

    def handle_endtag(self, tag: str) -> None:
        self._add(tag if tag in INLINE else "block", closes=True)

    def handle_data(self, data: str) -> None:
        self._add("text")

    def _point(self, _text: str) -> None:
        self._add("point")

    def _block(self, _text: str) -> None:
        self._add("block")

    handle_entityref = handle_charref = handle_comment = _point  # type: ignore[assignment]
    handle_decl = handle_pi = unknown_decl = _block  # type: ignore[assignment]


def _with_tags(text: str) -> str:
    """A page with an empty tag of the same length instead of each protected text."""
    parts, place = [], 0
    for one in protected(text, "html"):
        if one.end - one.start > len("<hr/>"):
            blank = " " * (one.end - one.start - len("<hr/>"))
            parts += [text[place : one.start], "<hr" if one.block else "<br", blank, "/>"]
            place = one.end
    return "".join([*parts, text[place:]])


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
