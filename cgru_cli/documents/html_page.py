"""HTML (.html): each text between two block tags is a segment, with its inline tags."""

import codecs
import contextlib
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from .document import TextDocument, translatable
from .inline import pairs
from .protected import INLINE, TAG, VOID, Protected, is_empty, protected

_CHARSET = re.compile(rb"<meta\b[^<>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_PART = re.compile(
    rf"{TAG}|</?(?P<bad>[A-Za-z][\w:.-]*)[^<>]*(?:>|(?=<))|(?P<point>&#?\w+;?|</[^<>]*>)"
    "|(?P<text>[^<&]+|[<&])"
)


class Html(TextDocument):
    """A page or a part of a page; text that is not prose is unchanged (see `protected`)."""

    def __init__(self, content: bytes):
        encoding = _encoding(content)
        super().__init__(content, encoding)
        self.media_type = f"text/html; charset={encoding}"
        inline: list[_Part] = []
        for part in _parts(self.text):
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


class _Part(NamedTuple):
    """A part of a page from `start` to `end`.

    kind: text, block (a block tag), point (an entity, a protected text or an empty inline tag), or
    the name of another inline tag. closes: whether it is a closing tag.
    """

    start: int
    end: int
    kind: str
    closes: bool = False


def _parts(page: str) -> Iterator[_Part]:
    """The parts of a page; the last one is a block, perhaps empty."""
    place, comment = 0, page.find("<!--", page.rfind("-->") + 1)
    size = comment if comment >= 0 else len(page)  # an open comment hides the rest
    for one in [*protected(page[:size], "html"), Protected(size, len(page), block=True)]:
        for match in _PART.finditer(page, place, one.start):
            name = (match["name"] or match["bad"] or "").lower()
            kind = name if name in INLINE else "block" if name else match.lastgroup or ""
            if name in INLINE and not match["slash"] and is_empty(match[0]):
                kind = "point"
            yield _Part(*match.span(), kind, match[0].startswith("</"))
        yield _Part(one.start, one.end, "block" if one.block else "point")
        place = one.end


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
