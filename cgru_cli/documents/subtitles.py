"""Subtitles (.srt), read and written by the library srt: each subtitle is a segment."""

import re
from collections.abc import Sequence

from ..errors import CgruError
from ..system.versions import installed
from .document import Document, decoded, translatable, unified
from .inline import MarkedText

_MARKS = re.compile(
    r"<(?P<slash>/?)(?P<name>[biu]|font)\b[^<>]*>|\{\\[^{}]*\}|[ \t]*\n[ \t]*", re.IGNORECASE
)

# for these, the library's regular expression takes quadratic time or more
_LONG_RUN = re.compile(r"(?<!\s)\s{100}|(?<![0-9])[0-9]{30}")


class Subtitles(Document):
    """Subtitles with numbers and times; line breaks are marks."""

    media_type = "application/x-subrip; charset=utf-8"

    def __init__(self, content: bytes):
        """Raises CgruError for a file that the library cannot read in a short time."""
        super().__init__()
        self._library = installed("srt", "documents")
        self._text, self._bom, self._ends = unified(decoded(content))
        if _LONG_RUN.search(self._text):
            raise CgruError("has 100 spaces or line breaks in a row, or 30 digits; remove them")
        list(self._library.parse(self._text))  # raises errors
        spans = [match.span(5) for match in self._library.SRT_REGEX.finditer(self._text)]
        every = [(*span, MarkedText(self._text[slice(*span)], _MARKS)) for span in spans]
        self._marked = [one for one in every if translatable(one[2].plain)]
        self.segments = [marked.segment for *_, marked in self._marked]

    def written(self, translations: Sequence[str]) -> bytes:
        parts, place = [self._bom], 0
        for (start, end, marked), translation in zip(self._marked, translations, strict=True):
            if translation != marked.segment:
                content = self._library.make_legal_content(marked.restored(translation))
                parts += [self._text[place:start], content]
                place = end
        return "".join([*parts, self._text[place:]]).replace("\n", self._ends).encode()
