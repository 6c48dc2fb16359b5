"""Choose the format of a document by its suffix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from ..errors import CgruError, UsageError, at, parsing
from ..system.line_writer import is_stream
from .document import Document, PlainText, decoded, marked
from .gettext import Catalogue
from .html_page import Html
from .markdown import Markdown
from .subtitles import Subtitles
from .word import Word
from .xliff import Xliff

_FORMATS: dict[str, type] = {
    ".txt": PlainText,
    ".md": Markdown,
    ".markdown": Markdown,
    ".mdx": Markdown,
    ".html": Html,
    ".htm": Html,
    ".srt": Subtitles,
    ".po": Catalogue,
    ".pot": Catalogue,
    ".xlf": Xliff,
    ".xliff": Xliff,
    ".docx": Word,
}


def check_same_format(source: str, target: str) -> None:
    """Raise UsageError if the name of the translation does not have the format of the document.

    Devices, pipes and documents of an unknown format are not checked.
    """
    before, after = (PurePath(name).suffix.lower() for name in (source, target))
    expected = _FORMATS.get(before)
    if expected and expected is not _FORMATS.get(after) and not is_stream(target):
        fitting = " or ".join(suffix for suffix, one in _FORMATS.items() if one is expected)
        raise UsageError(
            f"--document: {target} must have the format of {source}, with the ending {fitting}; "
            f"the known endings are {', '.join(_FORMATS)}"
        )


class _Reencoded(Document):
    """A document in UTF-8 that is written in another encoding, with a byte order mark."""

    def __init__(self, document: Document, encoding: str):
        super().__init__()
        self._document, self._encoding = document, encoding
        self.form, self.segments = document.form, document.segments  # type: ignore[misc]
        self.media_type = re.sub("charset=.*", f"charset={encoding}", document.media_type)

    def written(self, translations: Sequence[str]) -> bytes:
        self._document.target_language = self.target_language
        text = decoded(self._document.written(translations)).lstrip("\ufeff")
        if isinstance(self._document, Xliff):
            declared = rf"\g<1>{self._encoding[:6].upper()}"
            text = re.sub(r"\A(<\?xml[^>]* encoding=')[^']*", declared, text)
        return f"\ufeff{text}".encode(self._encoding)


def document_of(name: str, content: bytes) -> Document:
    """Read a document, given its name and content.

    Raises CgruError for an unknown format, damaged content, and a missing library.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in _FORMATS:
        raise CgruError(f"{name}: supported document formats are {', '.join(_FORMATS)}")
    with parsing(name, f"not a valid {suffix} file"), at(name):
        encoding = marked(content)
        if encoding in ("", "utf-8") or suffix == ".docx":
            return _FORMATS[suffix](content)
        return _Reencoded(_FORMATS[suffix](decoded(content).encode()), encoding)
