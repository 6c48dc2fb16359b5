"""The interface of all formats: a document has segments, and is written with translations."""

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ..errors import CgruError, reason

_SPACES = re.compile(r"""(?P<tag><[A-Za-z/](?:[^<>"']|"[^"]*"|'[^']*')*>)|\s+""")
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

    form: the form of marks in segments (see `text.markup`): html, markdown, or None for no marks.
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
        self._tags: dict[str, str] = {}  # tags with line breaks, by their form in segments

    def add(self, start: int, end: int, shown: str | None = None) -> None:
        """Add the text from start to end as a segment, if it has letters.

        shown: the segment, if it differs from that text. Spaces inside tags are kept; other runs of
        spaces and line breaks become one space.
        """
        shown = _SPACES.sub(self._spaced, shown or self.text[start:end]).strip()
        if translatable(shown):
            self.segments.append(shown)
            self._spans.append((start, end))

    def _spaced(self, match: re.Match[str]) -> str:
        """A tag in one line, or one space."""
        if not match["tag"]:
            return " "
        line = LINE_BREAK.sub(" ", match[0])
        if line != match[0]:
            self._tags[line] = match[0]
        return line

    def fitted(self, translation: str, _segment: str) -> str:
        """A translation, adapted to the text's format."""
        return _SPACES.sub(lambda match: self._tags.get(match[0], match[0]), translation)

    def written(self, translations: Sequence[str]) -> bytes:
        parts, place = [], 0
        for (start, end), segment, one in zip(
            self._spans, self.segments, translations, strict=True
        ):
            if one != segment:
                parts += [self.text[place:start], self.fitted(one, segment)]
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
