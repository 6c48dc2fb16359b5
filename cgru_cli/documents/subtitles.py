"""Subtitles (.srt), read and written by the library srt: each subtitle is a segment."""

import re
from collections.abc import Sequence

from ..errors import CgruError
from ..system.versions import installed
from .document import Document, decoded, translatable
from .inline import MarkedText

_MARKS = re.compile(
    r"<(?P<slash>/?)(?P<name>[biu]|font)\b[^<>]*>|\{\\[^{}]*\}|[ \t]*\r?\n[ \t]*", re.IGNORECASE
)

# in a translation, a blank line would end the subtitle
_BLANK_LINES = re.compile(r"(?<!\n)(\r?\n)(?:\r?\n)+")
# for these, the library's regular expression takes quadratic time or more
_LONG_RUN = re.compile(r"(?<!\s)\s{100}|(?<![0-9])[0-9]{30}")


class Subtitles(Document):
    """Subtitles with numbers and times; line breaks are marks, and keep their form."""

    media_type = "application/x-subrip; charset=utf-8"

    def __init__(self, content: bytes):
        """Raises CgruError for a file that the library cannot read in a short time."""
        super().__init__()
        library = installed("srt", "documents")
        text = decoded(content)
        self._text = text.removeprefix("\ufeff")
        self._bom = text[: len(text) - len(self._text)]
        if _LONG_RUN.search(self._text.replace("\r\n", "\n")):
            raise CgruError("has 100 spaces or line breaks in a row, or 30 digits; remove them")
        list(library.parse(self._text))  # raises errors
        spans = [match.span(5) for match in library.SRT_REGEX.finditer(self._text)]
        every = [(*span, MarkedText(self._text[slice(*span)], _MARKS)) for span in spans]
        self._marked = [one for one in every if translatable(one[2].plain)]
        self.segments = [marked.segment for *_, marked in self._marked]

    def written(self, translations: Sequence[str]) -> bytes:
        parts, place = [self._bom], 0
        for (start, end, marked), translation in zip(self._marked, translations, strict=True):
            if translation != marked.segment:
                content = marked.restored(translation)
                if not _BLANK_LINES.search(f"\n{self._text[start:end]}\n"):
                    content = _BLANK_LINES.sub(r"\1", f"\n{content}")[1:].rstrip("\r\n")
                parts += [self._text[place:start], content]
                place = end
        return "".join([*parts, self._text[place:]]).encode()
