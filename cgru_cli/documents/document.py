"""The interface of all formats: a document has segments, and is written with translations."""

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ..errors import CgruError, reason
from .protected import FIRST, STANDING, TAG, hidden

_KEPT = re.compile(rf"{TAG}|(?P<standing>{STANDING.pattern})|\s+", re.DOTALL)
# UTF-32 first: its mark begins with that of UTF-16
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
LINE_BREAK = re.compile(r"\r\n?|\n")


class Document(ABC):
    """A document; `segments` are its texts, one line each.

    form: the form of marks in segments (see `markup`): html, markdown, or None for no marks.
    target_language: the code of the translations' language, "" if unknown.
    """

    form: ClassVar[str | None] = "html"
    media_type: str = "text/plain; charset=utf-8"

    def __init__(self) -> None:
        self.segments: list[str] = []
        self.target_language = ""

    @abstractmethod
    def written(self, translations: Sequence[str]) -> bytes:
        """The content of the file, with each segment replaced by its translation.

        If a translation equals its segment, that part of the file is unchanged.
        """


class TextDocument(Document):
    """A document in which the segments are replaced, and all other bytes are kept."""

    def __init__(self, content: bytes, encoding: str = "utf-8"):
        """Raises CgruError if the content is in another encoding."""
        super().__init__()
        self.text, self._encoding = decoded(content, encoding), marked(content) or encoding
        self._spans: list[tuple[int, int]] = []
        # of each segment, tags and protected texts with line breaks, by their form in the segment
        self._broken: list[dict[str, str]] = []

    def add(self, start: int, end: int, shown: str | None = None) -> None:
        """Add the text from start to end as a segment, if it has letters outside protected texts.

        shown: the segment, if it differs from that text. Spaces inside tags and protected texts are
        kept; other runs of spaces and line breaks become one space.
        """
        shown = self.text[start:end] if shown is None else shown
        outside, items = hidden(shown, self.form) if self.form else (shown, [])
        if not translatable(_KEPT.sub("", outside) if self.form else outside):
            return
        broken: dict[str, str] = {}

        def in_line(match: re.Match[str]) -> str:
            if not (match["tag"] or match["standing"]):
                return " "
            kept = match[0] if match["tag"] else shown[slice(*items[ord(match[0]) - FIRST][:2])]
            line = LINE_BREAK.sub(" ", kept)
            if line != kept:
                broken[line] = kept
            elif " " in line:  # a line break may be shown as a space
                words = r"(?: |[ \t>]*(?:\r\n?|\n)[ \t>]*)".join(map(re.escape, line.split(" ")))
                written = re.compile(words).search(self.text, start, end)
                if written and written[0] != line:
                    broken[line] = written[0]
            return line

        self.segments.append(_KEPT.sub(in_line, outside).strip())
        self._spans.append((start, end))
        self._broken.append(broken)

    def fitted(self, translation: str, _segment: str) -> str:
        """A translation, adapted to the text's format."""
        return translation

    def written(self, translations: Sequence[str]) -> bytes:
        parts, place = [], 0
        for (start, end), segment, one, broken in zip(
            self._spans, self.segments, translations, self._broken, strict=True
        ):
            if one != segment:
                text = self.fitted(one, segment)
                for line, kept in broken.items():
                    text = text.replace(line, kept)
                parts += [self.text[place:start], text]
                place = end
        text = "".join([*parts, self.text[place:]])
        return text.encode(self._encoding, "xmlcharrefreplace")  # only HTML is not in UTF-8


class PlainText(TextDocument):
    """Plain text (.txt): each line is a segment; line ends and indentation are unchanged."""

    form = None

    def __init__(self, content: bytes):
        super().__init__(content)
        for match in re.finditer(r"[^\s\ufeff](?:[^\r\n]*[^\s])?", self.text):
            self.add(*match.span())


def marked(content: bytes) -> str:
    """The encoding that a byte order mark at the beginning states; "" without a mark."""
    return next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")


def decoded(content: bytes, encoding: str = "utf-8") -> str:
    """The text of a file, with its byte order mark, which decides instead of `encoding`.

    Raises CgruError if it is in another encoding.
    """
    encoding = marked(content) or encoding
    try:
        if b"\0" in content[:2] and not marked(content):
            raise ValueError("UTF-16 without a byte order mark?")
        return content.decode(encoding)
    except (ValueError, LookupError) as error:
        message = f"not a text in {encoding} ({reason(error)}); save it in UTF-8"
        raise CgruError(f"{message}, or in UTF-16 with a byte order mark") from None


def unified(text: str) -> tuple[str, str, str]:
    r"""A text without its byte order mark and with "\n" as line end; the mark, and the line end."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    ends = "\r\n" if "\r\n" in text else "\n"
    return text.lstrip("\ufeff").replace("\r\n", "\n"), mark, ends


def translatable(text: str) -> bool:
    """Whether a text has letters."""
    return any(map(str.isalpha, text))
